"""Before a clean restart: idle for a while by the service's own metrics, and never a service that is not well."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from node_scenes import (
    NODE,
    detokenizer,
    launcher,
    listener,
    observe,
    profile,
    rank,
    service_processes,
    zombie,
)

from fleetops.model.errors import Refused, StepFailed
from fleetops.model.fleet import Inventory
from fleetops.model.machine import LISTENERS
from fleetops.model.session import Streaming
from fleetops.steps.drain import STEP, plan
from fleetops.steps.support.base import Situation

HERE = {LISTENERS: (listener(4121),)}
ANSWER = json.dumps({"text": "x", "meta_info": {"completion_tokens": 1}}).encode()


def situation(*processes, **fields) -> Situation:
    seen = observe(*processes, facts=HERE, **fields)
    return Situation(
        inventory=Inventory(path=".", nodes={NODE.name: NODE}),  # type: ignore[arg-type]
        observation=seen,
        findings=(),
        before=seen,
        run_id="run-1",
    )


def metrics(running: int, waiting: int = 0) -> bytes:
    return f"sglang:num_running_reqs {running}.0\nsglang:num_queue_reqs {waiting}.0\n".encode()


class Service:
    """A node whose service answers /metrics in turn with what the test says; the last goes on for ever."""

    def __init__(self, *answers, generation=(200, ANSWER), seen=None) -> None:
        self.answers = list(answers)
        self.generation = generation
        self.situation = seen or situation(*service_processes())
        self.time = 0.0
        self.asked: list[tuple[int, str, str]] = []
        self.told: list[str] = []

    def look(self) -> Situation:
        return self.situation

    @contextmanager
    def stream(self, method, path, body, *, port, headers, deadline_s) -> Iterator[Streaming]:
        self.asked.append((port, method, path))
        answer = self.generation
        if path == "/metrics":
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        status, text = answer if isinstance(answer, tuple) else (200, answer)
        yield Streaming(status, "text/plain", 0.0, iter([text]))

    def tell(self, text: str) -> None:
        self.told.append(text)

    def wait(self, seconds: float) -> None:
        self.time += seconds

    def now(self) -> float:
        return self.time


def run(service: Service, **options) -> str:
    return STEP.run(service, STEP.settle(options))  # type: ignore[arg-type]


def test_it_waits_for_the_last_request_and_then_for_a_quiet_while():
    service = Service(metrics(3, 2), metrics(1), metrics(0))
    assert run(service) == "idle after 4 s: no request running or waiting for 5 s"
    assert service.told[:2] == [
        "waiting until it is idle: 3 running, 2 waiting",
        "waiting until it is idle: 1 running, 0 waiting",
    ]
    assert service.time >= 9


def test_a_moment_between_two_requests_is_not_idle():
    service = Service(metrics(0), metrics(1), metrics(0), metrics(1), metrics(0))
    assert run(service).startswith("idle after 8 s")


def test_one_that_only_waits_is_not_idle():
    with pytest.raises(StepFailed, match="0 running, 4 waiting"):
        run(Service(metrics(0, 4)), deadline=20)


def test_at_the_deadline_nothing_is_stopped_and_what_still_runs_is_told():
    service = Service(metrics(2))
    with pytest.raises(
        StepFailed, match="not idle after 60 s: 2 running, 0 waiting; nothing was stopped"
    ) as caught:
        run(service, deadline=60)
    assert "--from stop-service" in caught.value.hint
    assert 60 <= service.time <= 62


@pytest.mark.parametrize(
    ("answer", "told"), [((404, b"not found"), "answers 404"), (b"up 1\n", "does not tell its requests")]
)
def test_a_service_that_never_tells_is_refused_at_once(answer, told):
    with pytest.raises(Refused, match=told) as caught:
        run(Service(answer))
    assert caught.value.guard == "metrics"


def test_metrics_that_do_not_come_once_are_no_zero():
    service = Service(metrics(0), TimeoutError("no answer"), metrics(0))
    assert run(service).startswith("idle after 4 s")


def test_metrics_that_never_come_are_told_at_the_deadline():
    with pytest.raises(StepFailed, match="/metrics: refused; nothing was stopped"):
        run(Service(ConnectionRefusedError("refused")), deadline=10)


def test_a_service_that_dies_meanwhile_is_told_as_wedged():
    service = Service(metrics(1), ConnectionRefusedError("refused"))
    dead = situation(launcher(), *(zombie(rank(number)) for number in range(8)), detokenizer())
    waited = service.wait

    def wait(seconds: float) -> None:
        waited(seconds)
        service.situation = dead

    service.wait = wait  # type: ignore[method-assign]
    with pytest.raises(Refused, match="is wedged") as caught:
        run(service)
    assert caught.value.hint == "fleetops recover node-174 --dry-run"


def test_processes_that_live_and_give_no_token_are_wedged():
    service = Service(metrics(0), generation=TimeoutError("no answer"))
    with pytest.raises(Refused, match="asked for one token, no answer in 30 s") as caught:
        run(service)
    assert caught.value.guard == "wedged"


def test_one_that_is_too_busy_for_a_token_is_waited_for():
    service = Service(metrics(9), metrics(0), generation=(503, b"full"))
    assert run(service).startswith("idle")


def test_the_service_that_runs_is_asked_not_the_one_that_shall():
    other = profile(name="other", port=31000)
    seen = situation(*service_processes(), profile=other)
    own = replace(seen.inventory, profiles={"hicache48": profile(), "other": other})
    # By its record it is the other profile's, and still on its old port.
    record = replace(seen, inventory=own, observation=observe(*service_processes(), facts=HERE, profile=None))
    service = Service(metrics(0), seen=record)
    run(service)
    assert {port for port, _, _ in service.asked} == {30000}


class TestPlan:
    def test_a_healthy_service_is_waited_for_with_its_deadlines(self):
        planned = plan(situation(*service_processes()), STEP.settle({}))
        assert planned.blocked == ""
        assert "for 5 s" in planned.detail
        assert "within 600 s" in planned.detail

    def test_a_wedged_one_is_refused_before_anything_is_done_and_recover_is_named(self):
        dead = situation(launcher(), *(zombie(rank(number)) for number in range(8)), detokenizer())
        planned = plan(dead, STEP.settle({}))
        assert (planned.hopeless, planned.guard) == (True, "wedged")
        assert "some of its processes are dead" in planned.blocked
        assert planned.mend == "fleetops recover node-174 --dry-run"

    def test_orphans_are_wedged(self):
        orphans = tuple(rank(number, ppid=1) for number in range(8))
        assert plan(situation(*orphans), STEP.settle({})).guard == "wedged"

    def test_one_that_comes_up_is_left_alone(self):
        assert plan(situation(launcher()), STEP.settle({})).guard == "starting"

    def test_no_service_is_nothing_to_wait_for(self):
        planned = plan(situation(), STEP.settle({}))
        assert (planned.hopeless, planned.guard) == (True, "service")
        assert "no service of node-174" in planned.blocked
