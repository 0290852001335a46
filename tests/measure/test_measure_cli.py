"""`fleetops measure` from its command line to its exit code, on a service in this process."""

import io
import json
import re
import socket
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fake_service import serving, streamed, text
from local_session import LocalSession

from fleetops.cli.program import run
from fleetops.cli.world import World
from fleetops.model.command import Outcome
from fleetops.model.errors import Unreachable
from fleetops.model.exit import Exit

INVENTORY = """\
nodes:
  node-174: {address: 127.0.0.1, profile: p}
  node-175: {address: 127.0.0.2}
profiles:
  p:
    engine: sglang
    model: /models/example
    ranks: 1
    port: PORT
    flags: {api-key: sk-of-the-profile}
"""
FEW = ("--concurrency", "2", "--requests", "6", "--output-tokens", "5", "--prompt-tokens", "20")


class Quiet(LocalSession):
    """Requests are real; nothing can be read of the machine, as if no engine ran there."""

    def batch(self, commands):
        return [Outcome(status=1) for _ in commands]


@dataclass
class Sessions:
    """Every node is this machine."""

    quiet: Quiet = field(default_factory=Quiet)

    def session(self, host) -> Quiet:
        return self.quiet


class LocalWorld(World):
    """Connections that lead to this machine."""

    def connections(self, inventory):
        @contextmanager
        def made():
            yield Sessions()

        return made()


@dataclass(frozen=True)
class Said:
    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.stdout)


@pytest.fixture
def measure(tmp_path: Path) -> Callable[..., Said]:
    def call(port: int, *argv: str, node: str = "node-174", **environ: str) -> Said:
        (tmp_path / "fleet.yaml").write_text(INVENTORY.replace("PORT", str(port)))
        world = LocalWorld(
            stdin=io.StringIO(),
            stdout=io.StringIO(),
            stderr=io.StringIO(),
            environ={"HOME": str(tmp_path), "FLEETOPS_STATE": str(tmp_path / "state"), **environ},
            cwd=tmp_path,
        )
        where = ("--inventory", str(tmp_path / "fleet.yaml"))
        code = run(["measure", *where, node, *argv], world)
        return Said(code, world.stdout.getvalue(), world.stderr.getvalue())

    return call


def test_json_has_the_figures_and_what_was_asked(measure):
    with serving(streamed(step_s=0.005)) as service:
        said = measure(service.port, "--json", "--seed", "7", *FEW)
    assert said.code == Exit.FINE
    assert said.stderr == ""
    body = said.json
    assert body["schema"] == "fleetops.measure/1"
    asked = {
        "node": "node-174",
        "port": service.port,
        "engine": "sglang",
        "model": "some-model",
        "concurrency": 2,
        "prompt_tokens": 20,
        "output_tokens": 5,
        "requests": 6,
        "completed": 6,
        "seed": 7,
        "errors": [],
        "interrupted": False,
    }
    assert {name: body[name] for name in asked} == asked
    assert 40 < body["output_tokens_per_s"] < 450
    for name in ("ttft_s", "itl_s"):
        assert 0 < body[name]["median"] <= body[name]["p99"] < 1
    assert body["prompt_tokens_used"] == {"median": 20, "shortest": 20, "longest": 20}
    assert body["output_tokens_got"] == {"median": 5, "shortest": 5, "longest": 5}
    assert body["wall_s"] >= body["steady_s"] > 0


def test_a_person_gets_the_figures_on_stdout_and_the_announcement_on_stderr(measure):
    with serving(streamed(step_s=0.005)) as service:
        said = measure(service.port, "--seed", "7", *FEW)
    assert said.code == Exit.FINE
    load = "2 streams, 6 requests, prompts of 20 tokens, answers of 5"
    assert said.stderr == f"load on node-174, port {service.port}: {load} (seed 7)\n"
    for words in ("node-174   SGLang", "some-model", "tokens/s", "median; p99", "6 of 6", "steady state"):
        assert words in said.stdout


def test_a_run_in_which_some_failed_exits_1_and_one_in_which_all_did_4(measure):
    good, number = streamed(), iter(range(100))

    def sometimes(to, body):
        if next(number) % 3 == 2:
            to.say_json({"error": {"message": "no room"}}, 503)
        else:
            good(to, body)

    with serving(sometimes) as service:
        some = measure(service.port, *FEW)
    with serving(lambda to, body: to.say_json({"error": "no room"}, 500)) as service:
        everything = measure(service.port, *FEW)
    assert (some.code, everything.code) == (Exit.FINDINGS, Exit.FAILED)
    assert "2   status   503: no room" in some.stdout
    assert "0 of 6" in everything.stdout
    assert "6   not begun   the first request failed" in everything.stdout


def test_no_service_is_unknown_with_a_clear_message(measure):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        said = measure(taken.getsockname()[1])
    assert said.code == Exit.UNKNOWN
    assert "no service answers on port" in said.stderr
    assert "no engine runs there" in said.stderr
    assert re.search(r"fleetops probe --inventory \S+/fleet.yaml node-174\n", said.stderr)


def test_a_node_without_a_profile_and_without_a_service_wants_a_port(measure):
    said = measure(1, node="node-175")
    assert said.code == Exit.UNKNOWN
    assert "--port P" in said.stderr


def test_a_port_can_be_named(measure):
    with serving(streamed()) as service:
        assert measure(1, "--port", str(service.port), *FEW, node="node-175").code == Exit.FINE


class TestKeys:
    def test_the_profiles_own_key_is_used(self, measure):
        with serving(streamed(), key="sk-of-the-profile") as service:
            said = measure(service.port, *FEW)
        assert said.code == Exit.FINE
        assert "sk-of-the-profile" not in said.stdout + said.stderr

    def test_one_from_the_environment_goes_before_it(self, measure):
        with serving(streamed(), key="sk-given") as service:
            said = measure(service.port, *FEW, "--api-key-env", "KEY", KEY="sk-given")
        assert said.code == Exit.FINE

    def test_a_wrong_one_is_told_and_not_shown(self, measure):
        with serving(streamed(), key="sk-right") as service:
            said = measure(service.port, *FEW, "--json", "--api-key-env", "KEY", KEY="sk-wrong")
        assert said.code == Exit.UNKNOWN
        assert "401" in said.stderr
        assert "does not take the key" in said.stderr
        assert "sk-wrong" not in said.stderr

    def test_a_missing_one_says_how_to_give_it(self, measure):
        with serving(streamed(), key="sk-right") as service:
            said = measure(1, "--port", str(service.port), *FEW, node="node-175")
        assert said.code == Exit.UNKNOWN
        assert "--api-key-env NAME" in said.stderr


class TestOthers:
    METRICS = (
        'sglang:num_running_reqs{tp_rank="0"} 3.0\nsglang:num_queue_reqs{tp_rank="0"} 2.0\n'
        'sglang:num_running_reqs{tp_rank="0",dp_rank="1"} 1.0\n'
    )

    def test_who_else_is_served_is_said_before_and_after(self, measure):
        with serving(streamed(), metrics=self.METRICS) as service:
            said = measure(service.port, *FEW)
        told = "4 requests of others were running, 2 waiting"
        assert told in said.stderr
        assert told in said.stdout

    def test_in_json_too(self, measure):
        with serving(streamed(), metrics=self.METRICS) as service:
            assert measure(service.port, "--json", *FEW).json["others"] == {"running": 4, "waiting": 2}

    def test_without_metrics_it_is_not_known(self, measure):
        with serving(streamed()) as service:
            assert measure(service.port, "--json", *FEW).json["others"] is None


def test_what_answers_and_is_no_such_service_is_unknown(measure):
    with serving(streamed()) as service:
        service_page = b"<html>It works!</html>"
        service.answer = lambda to, body: None
        handler = "fake_service.Handler.do_GET"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(handler, lambda to: to.say(service_page, "text/html"))
            said = measure(service.port)
    assert said.code == Exit.UNKNOWN
    assert "no OpenAI-compatible service" in said.stderr


def test_what_the_figures_need_to_be_read_rightly_is_said(measure):
    with serving(streamed(step_s=0.005, events_of=5)) as service:
        said = measure(service.port, "--output-tokens", "20", *FEW[:4])
    assert "5.0 tokens came at once on average" in said.stdout

    def whole(to, body):
        usage = {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 3}}
        to.say_json({**text(), "usage": usage})

    with serving(whole) as service:
        said = measure(service.port, *FEW)
    assert "6 answers came in one piece" in said.stdout
    assert "18 prompt tokens came from the service's prefix cache" in said.stdout
    assert "answers ended before 5 tokens" in said.stdout


def test_a_host_that_is_out_of_reach_is_unknown(measure, monkeypatch):
    def unreachable(self, commands):
        raise Unreachable("node-174: no route", hint="look at the cable")

    monkeypatch.setattr(Quiet, "batch", unreachable)
    said = measure(1)
    assert said.code == Exit.UNKNOWN
    assert "could not be looked at: node-174: no route" in said.stderr
    assert "look at the cable" in said.stderr
