"""A generation, as every engine wants it asked: vLLM by the model's name, and what each kind of silence means."""

import json
from contextlib import contextmanager

import pytest

from fleetops.engines import engine
from fleetops.model.session import Streaming
from fleetops.steps.support.asking import Asking
from fleetops.steps.support.serving import NoGeneration, generate

MODELS = (200, {"object": "list", "data": [{"id": "/models/small"}]})
ANSWER = (200, {"choices": [{"text": " one"}], "usage": {"prompt_tokens": 2, "completion_tokens": 4}})


class Server:
    """Answers from a script by path; an exception is raised."""

    def __init__(self, **answers):
        self.answers = {"models": MODELS, "completions": ANSWER, **answers}
        self.asked = []

    @contextmanager
    def open(self, method, path, body, *, headers, deadline_s):
        self.asked.append((method, path, json.loads(body) if body else None, headers, deadline_s))
        answer = self.answers[path.rpartition("/")[2]]
        if isinstance(answer, Exception):
            raise answer
        status, said = answer
        pieces = iter((json.dumps(said).encode(),))
        yield Streaming(status=status, content_type="application/json", asked_at=0.0, pieces=pieces)


def ask(server, name="vllm"):
    return generate(Asking(open=server.open, key="sk-1"), engine(name), 4, deadline_s=7)


def test_vllm_is_asked_by_the_name_that_it_tells():
    server = Server()
    assert ask(server) == 4
    (_, models, _, _, _), (_, path, body, headers, _) = server.asked
    assert (models, path, body["model"]) == ("/v1/models", "/v1/completions", "/models/small")
    assert headers == {"Authorization": "Bearer sk-1"}


def test_an_engine_that_needs_no_name_is_asked_once():
    server = Server(generate=(200, {"text": " one", "meta_info": {"completion_tokens": 4}}))
    assert ask(server, "sglang") == 4
    assert [path for _, path, *_ in server.asked] == ["/generate"]


@pytest.mark.parametrize("where", ["models", "completions"])
@pytest.mark.parametrize(
    ("answer", "silent", "busy"),
    [
        (TimeoutError(), True, False),
        ((503, {"error": "loading"}), False, True),
        ((500, {"error": "EngineDeadError"}), False, False),
        (ConnectionRefusedError("refused"), False, False),
    ],
    ids=["silence", "busy", "dead", "refused"],
)
def test_what_came_to_nothing_says_how(where, answer, silent, busy):
    with pytest.raises(NoGeneration) as caught:
        ask(Server(**{where: answer}))
    assert (caught.value.silent, caught.value.busy) == (silent, busy)
    if silent:
        assert str(caught.value) == "no answer in 7 s"
