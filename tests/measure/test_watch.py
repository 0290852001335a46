"""After readiness: what dies is told within seconds with its cause, what hangs is seen, what is only slow is left alone."""

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from engine_machine import Machine
from step_desk import StepDesk

from fleetops.model.errors import StepFailed
from fleetops.model.fleet import Flag, Profile
from fleetops.model.load import SHORT, STANDARD, Load
from fleetops.model.record import Capacity, LaunchRecord
from fleetops.steps.await_ready import STEP
from fleetops.steps.record_launch import STEP as RECORD
from fleetops.steps.support.launching import Started

PROFILE = Profile(
    name="p", engine="sglang", model="/models/example", ranks=2, port=1, watch_s=60, ready_deadline_s=30
)
QUICK = {"pulse": 0.3, "hang": 1.5}
TINY = Load(concurrency=2, prompt_tokens=5, output_tokens=6, requests=4)
LAST = LaunchRecord(node="node-174", profile="p", at=1.0, run_id="last", capacity=Capacity(**asdict(TINY)))


def small(machine: Machine) -> Path:
    return machine.folder / "models/small"


def started(
    machine: Machine,
    *flags: str,
    watch_s: float = 60,
    previous: LaunchRecord | None = None,
    **environment: str,
):
    """A desk on which `start-service` has just started the stand-in."""
    engine = machine.start("--enable-metrics", *flags, ranks=2, model=small(machine), **environment)
    desk = StepDesk(replace(PROFILE, port=engine.port, watch_s=watch_s), previous)
    table = {one.pid: one for one in desk.situation.observation.node_facts.readings["processes"]}
    ticks = table[engine.process.pid].start_ticks
    desk.memo["started"] = Started(
        pid=engine.process.pid, start_ticks=ticks, log=str(engine._log), at=desk.now()
    )
    return desk, engine


def run(desk: StepDesk, **options):
    return STEP.run(desk, STEP.settle(QUICK | options))


def test_a_service_that_dies_after_ready_is_told_within_seconds_with_its_cause(machine: Machine) -> None:
    desk, engine = started(machine, previous=LAST, SGLANG_LAB_FAULT="dies-after-ready:5")
    with pytest.raises(StepFailed) as raised:
        run(desk, **{"as-last": True})
    failed_at = desk.now()
    assert "died: torch.OutOfMemoryError: CUDA out of memory" in raised.value.message
    assert engine.process.poll() is not None
    watched = [at for at, text in desk.told if text.startswith("ready; watching")]
    assert watched, "it was killed before the watch began"
    assert failed_at - watched[0] < 15


def test_a_service_that_dies_while_it_is_measured_is_told_with_its_cause_as_well(machine: Machine) -> None:
    desk, _ = started(machine, SGLANG_LAB_FAULT="dies-after-ready:1.5")
    with pytest.raises(StepFailed, match=r"died: torch\.OutOfMemoryError: CUDA out of memory"):
        run(desk, fully=True)
    assert not any(text.startswith("ready; watching") for _, text in desk.told)


def test_a_service_that_hangs_after_ready_is_seen_though_its_health_says_200(machine: Machine) -> None:
    desk, engine = started(
        machine,
        previous=LAST,
        SGLANG_LAB_FAULT="hangs-after-ready:5",
        SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION="false",
    )
    healthy = []
    desk.restore = lambda action, end=desk.restore: (healthy.append(engine.ask("/health")), end(action))[1]
    with pytest.raises(StepFailed) as raised:
        run(desk, **{"as-last": True})
    assert "it hangs: no answer to" in raised.value.message
    assert "what was started is ended" in raised.value.message
    assert healthy[0][0] == 200


def test_a_service_that_stays_is_watched_to_the_end_measured_and_recorded(machine: Machine) -> None:
    desk, engine = started(machine, watch_s=1)
    assert "3 generations answered" in run(desk)
    assert engine.process.poll() is None
    RECORD.run(desk, RECORD.settle({}))
    [capacity] = desk.recorded
    assert capacity.load == SHORT
    assert 400 < capacity.tokens_per_s < 1200
    assert capacity.ttft_s is not None
    assert 0 < capacity.ttft_s < 2
    assert 0.004 < capacity.itl_s < 0.02
    assert capacity.itl_p99_s >= capacity.itl_s


def test_a_recovery_measures_as_the_last_launch_was_measured(machine: Machine) -> None:
    desk, _ = started(machine, watch_s=0.1, previous=LAST)
    run(desk, **{"as-last": True})
    assert desk.memo["measurement"].load == TINY


def test_a_service_with_an_api_key_is_measured_and_watched_too(machine: Machine) -> None:
    desk, _ = started(machine, "--api-key", "sk-very-secret", watch_s=0.5)
    flag = Flag(name="api_key", value="sk-very-secret")
    desk.profile = replace(desk.profile, flags=(flag,))
    desk.look()
    run(desk)
    assert desk.memo["measurement"].errors == ()
    assert not any("sk-very-secret" in text for _, text in desk.told)


def test_the_full_measurement_is_the_one_of_the_measure_command() -> None:
    settled = STEP.settle({"fully": True})
    assert settled.switch("fully")
    assert STANDARD != SHORT
