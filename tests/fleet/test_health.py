"""Whether recover has anything to do: only a whole service that really generates is well; unknown is neither."""

import json
from contextlib import nullcontext
from dataclasses import replace

import pytest
from node_scenes import (
    NODE,
    detokenizer,
    holders,
    launcher,
    listener,
    missing,
    observe,
    process,
    profile,
    rank,
)

from fleetops.checks import judge
from fleetops.fleet import health
from fleetops.fleet.health import judge_health
from fleetops.model.errors import Refused, Unknown
from fleetops.model.finding import Severity
from fleetops.model.fleet import Flag, Inventory
from fleetops.model.gpu import GPUS
from fleetops.model.machine import HOLDERS, LISTENERS
from fleetops.model.session import Answer, Streaming
from fleetops.steps.support.base import Situation

WHOLE = (launcher(), *(rank(number) for number in range(8)), detokenizer())
SERVING = {LISTENERS: (listener(4121),), HOLDERS: holders(*range(4130, 4138))}
ANSWER = Answer(200, json.dumps({"text": " yes", "meta_info": {"completion_tokens": 4}}).encode())


class Service:
    """The node's session and its HTTP port in one; answers from a script, the last one for ever."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = 0

    def session(self, host):
        return self

    def stream(self, port, method, path, body=None, *, headers=None, deadline_s=10.0):
        self.asked += 1
        self.headers = headers
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return nullcontext(
            Streaming(status=answer.status, content_type="", asked_at=0.0, pieces=iter((answer.body,)))
        )


def situation(*processes, facts=None, **options):
    observation = observe(*processes, facts=facts or {}, **options)
    return Situation(
        inventory=Inventory(path=".", nodes={"node-174": NODE}),
        observation=observation,
        findings=judge(observation),
        before=observation,
        run_id="run",
    )


def test_a_whole_service_that_generates_is_well():
    found = judge_health(situation(*WHOLE, facts=SERVING), Service(ANSWER))
    assert "4 tokens were generated" in found.well


@pytest.mark.parametrize(
    "answer",
    [Answer(503, b""), Answer(200, b"{}"), TimeoutError(), ConnectionRefusedError()],
    ids=["503", "200 without tokens", "no answer", "refused"],
)
def test_processes_that_live_and_do_not_generate_are_not_well(answer, monkeypatch):
    monkeypatch.setattr(health, "_PAUSE_S", 0)
    found = judge_health(situation(*WHOLE, facts=SERVING), Service(answer))
    assert found.well == ""
    assert found.situation.findings[0].check == "not-generating"


def test_a_service_that_wants_a_key_is_asked_with_the_profiles():
    secret = Flag(name="api_key", value="sk-1")
    service = Service(ANSWER)
    scene = situation(*WHOLE, facts=SERVING, profile=profile(flags=(*profile().flags, secret)))
    assert judge_health(scene, service).well
    assert service.headers == {"Authorization": "Bearer sk-1"}


def test_one_silence_of_a_busy_server_is_not_believed(monkeypatch):
    monkeypatch.setattr(health, "_PAUSE_S", 0)
    service = Service(TimeoutError(), ANSWER)
    assert judge_health(situation(*WHOLE, facts=SERVING), service).well
    assert service.asked == 2


def test_a_service_that_is_missing_is_not_well_and_is_not_asked():
    service = Service(ANSWER)
    assert judge_health(situation(), service).well == ""
    assert service.asked == 0


def test_facts_that_are_missing_are_no_reason_to_act_and_no_health():
    with pytest.raises(Unknown, match="cannot be told"):
        judge_health(situation(*WHOLE, facts={**SERVING, GPUS: missing()}), Service(ANSWER))


def test_a_service_that_is_coming_up_is_left_to_come_up():
    young = round(3.5e6 * 100) - 1200
    for processes in ((launcher(start_ticks=young),), (launcher(start_ticks=young), *WHOLE[1:])):
        with pytest.raises(Refused, match="for 12 s") as caught:
            judge_health(situation(*processes), Service(ConnectionRefusedError()))
        assert caught.value.guard == "starting"


def test_what_else_is_wrong_on_a_node_is_no_reason_to_end_a_service_that_serves():
    bystander = process(900, "sglang::router", "python3", "-c", "...", pgid=900, sid=900)
    wedged = process(800, "python3", "python3", "-m", "sglang.launch_server", "--tp", "2", "--port", "30001")
    dead = replace(rank(0), pid=801, ppid=800, pgid=800, sid=800, state="Z", cmdline=(), threads=1)
    scene = situation(*WHOLE, bystander, wedged, dead, facts=SERVING)
    assert any(finding.severity is Severity.CRITICAL for finding in scene.findings)
    assert judge_health(scene, Service(ANSWER)).well


def test_without_a_profile_and_with_nothing_wrong_there_is_nothing_to_do():
    node = replace(NODE, profile="")
    assert "no profile" in judge_health(situation(node=node, profile=None), Service(ANSWER)).well


def test_a_service_of_another_engine_on_the_profiles_port_is_asked_as_itself_and_not_called_the_profiles():
    argv = ("vllm", "serve", "/models/small", "--port", "30000")
    core = process(60, "VLLM::EngineCor", "VLLM::EngineCore", ppid=50, pgid=50, sid=50)
    whole = {"choices": [{"text": " yes"}], "usage": {"prompt_tokens": 2, "completion_tokens": 4}}
    models = Answer(200, b'{"data": [{"id": "/models/small"}]}')
    service = Service(models, Answer(200, json.dumps(whole).encode()))
    facts = {LISTENERS: (listener(50),), HOLDERS: holders(60)}
    found = judge_health(situation(process(50, "vllm", *argv), core, facts=facts), service)
    assert found.well.startswith("a service that is not as profile hicache48 says")
