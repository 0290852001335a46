"""What a launch makes of its guard's word: it goes on, it says, or it ends with the guard's reason."""

import json
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from node_scenes import NODE, observe, profile

from fleetops.checks import judge
from fleetops.facts.memory_guard import FACT
from fleetops.model.command import Outcome
from fleetops.model.errors import Refused, StepFailed, Unreachable
from fleetops.model.fleet import Flag, Inventory
from fleetops.steps.start_guard import STEP as ARM
from fleetops.steps.start_service import STEP as START
from fleetops.steps.support.base import Situation
from fleetops.steps.support.memory_guard.watching import (
    cause_from_guard,
    check_guard,
    disarm_guard,
    keep_guardian,
)

RUN = "20261130-091700-node-174-abc123"
STATE = {
    "schema": "fleetops.guard/1", "run_id": RUN, "profile": "hicache300", "pid": 77, "start_ticks": 5, "mode": "armed",
    "floor_bytes": 16 * 10**9, "lowest_bytes": 52_300_000_000, "lowest_bound": "MemAvailable", "looks": 9,
    "longest_gap_s": 0.03, "locked": True, "notes": [], "service": {"pid": 80, "start_ticks": 6}, "killed": None, "ended": "",
}  # fmt: skip
KILLED = {
    "after_s": 41.2, "bound": "MemAvailable", "room_bytes": 15_800_000_000, "room_after_bytes": 444_000_000_000,
    "processes": 10, "left": 0, "gone_s": 0.4,
}  # fmt: skip
DEAD = "Z"
FINE = Outcome(status=0, stdout="{}")


def told(letter: str = "S", **changes: Any) -> str:
    """What a node says of one guard; a letter of "" where its process is gone."""
    stat = f"77 (python3) {letter} {'0 ' * 18}5 0\n" if letter else ""
    return json.dumps(STATE | changes) + f"\n{stat}end\n"


@dataclass
class Desk:
    """A desk on which time is told, and the node's answers come one after the other, the last again and again."""

    answers: list[Any]
    profile: Any = None
    memo: dict[str, Any] = field(default_factory=dict)
    clock: float = 0.0
    said: list[str] = field(default_factory=list)
    made: list[tuple[str, ...]] = field(default_factory=list)
    made_outcome: Outcome = FINE
    kept: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        observation = observe(profile=self.profile or profile(name="hicache300"))
        self.situation = Situation(
            inventory=Inventory(path=".", nodes={"node-174": NODE}),
            observation=observation, findings=judge(observation), before=observation, run_id=RUN,
        )  # fmt: skip

    def ask(self, host, command):
        assert command == FACT.command
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Outcome) else Outcome(status=0, stdout=answer)

    def change(self, action):
        self.made.append(action.command.argv[3:])
        return self.made_outcome

    restore = change

    def keep(self, name, text):
        self.kept[name] = json.loads(text)

    def tell(self, text):
        self.said.append(text)

    def wait(self, seconds):
        self.clock += seconds

    def now(self):
        return self.clock


def guarded(*answers: Any) -> Desk:
    desk = Desk(list(answers))
    keep_guardian(desk, "8 x 300 GB")
    desk.clock = 100.0
    return desk


STORY = (
    "the memory guard ended it: MemAvailable fell to 15.8 GB, below the floor of 16 GB, 8 x 300 GB asked;"
    " 41 s after the start; 444 GB available again"
)


def test_a_guard_that_lives_lets_the_launch_go_on():
    check_guard(guarded(told()), ready=False)


def test_a_guard_that_has_killed_ends_the_launch_with_its_reason():
    desk = guarded(told(mode="killed", killed=KILLED))
    with pytest.raises(StepFailed) as failure:
        check_guard(desk, ready=True)
    assert failure.value.message == STORY


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (told(""), "the memory guard is gone without a word"),
        (told(DEAD), "the memory guard is gone without a word"),
        (
            told("", ended="what memory is left can no longer be read"),
            "(what memory is left can no longer be read)",
        ),
        ("end\n", "the memory guard is gone, and has left no state"),
    ],
)
def test_a_guard_that_is_gone_before_readiness_ends_the_launch_and_afterwards_is_only_said(answer, why):
    with pytest.raises(StepFailed) as failure:
        check_guard(guarded(answer), ready=False)
    assert why in failure.value.message
    desk = guarded(answer)
    check_guard(desk, ready=True)
    assert [text for text in desk.said if why in text]
    assert why in disarm_guard(desk)


def test_another_process_under_its_pid_is_not_the_guard():
    other = told().replace('"start_ticks": 5', '"start_ticks": 4')
    with pytest.raises(StepFailed, match="is gone"):
        check_guard(guarded(other), ready=False)


def test_it_is_asked_for_every_two_seconds_only():
    desk = guarded(told(), AssertionError("asked too early"), told())
    check_guard(desk, ready=False)
    desk.clock += 1.9
    check_guard(desk, ready=False)
    desk.answers.pop(0)
    desk.clock += 0.2
    check_guard(desk, ready=False)


def test_a_node_that_is_not_reached_for_a_while_says_nothing_of_its_guard():
    check_guard(guarded(Unreachable("no route", host="node-174")), ready=False)


@pytest.mark.parametrize("answer", ["gibberish\nend\n", Outcome(status=None, timed_out=True)])
def test_a_state_that_cannot_be_read_is_said_and_is_no_reason_to_end_a_launch(answer):
    desk = guarded(answer)
    check_guard(desk, ready=False)
    assert "the memory guard's state could not be read" in desk.said[0]


def test_the_cause_waits_until_the_guard_has_said_all():
    half = KILLED | {"room_after_bytes": None, "left": 10, "gone_s": None}
    desk = guarded(
        told(),
        told(mode="killed", killed=half),
        told("", mode="killed", killed=KILLED, ended="it has ended the service"),
    )
    assert cause_from_guard(desk, gone=True) == STORY
    assert desk.kept["memory-guard.json"]["killed"]["processes"] == 10, "it is evidence"


def test_a_service_that_died_by_itself_was_not_ended_by_its_guard():
    assert cause_from_guard(guarded(told(), told("", ended="the service is gone")), gone=True) == ""


def test_while_the_service_lives_nobody_waits_for_the_guard():
    desk = guarded(told())
    assert cause_from_guard(desk, gone=False) == ""
    assert desk.clock == 100.0


def test_what_cannot_be_asked_any_more_is_no_cause():
    assert cause_from_guard(guarded(Unreachable("no route", host="node-174")), gone=True) == ""


def test_disarming_is_told_and_seen():
    desk = guarded(told(), told(mode="reporting"))
    assert disarm_guard(desk) == ", 52.3 GB of memory left at the least"
    assert desk.made == [("fleetops-tell-guard", "/run/fleetops/guard", RUN, "disarm")]


def test_a_guard_that_does_not_disarm_is_said_and_the_launch_is_good_all_the_same():
    assert "disarms itself when its time is over" in disarm_guard(guarded(told()))
    lost = guarded(Unreachable("no route", host="node-174"))
    assert "could not be told (no route), and disarms itself" in disarm_guard(lost)


def test_without_a_guard_nothing_is_asked():
    desk = Desk([AssertionError("asked")])
    check_guard(desk, ready=False)
    assert (cause_from_guard(desk, gone=True), disarm_guard(desk)) == ("", "")


def test_arming_is_proven_by_the_guards_own_state():
    desk = Desk([told(service=None)])
    said = ARM.run(desk, ARM.settle({}))
    assert said == "floor 16 GB, 52.3 GB there (MemAvailable), locked in memory"
    weak = Desk([told(service=None, locked=False, notes=["not locked in memory: Cannot allocate memory"])])
    assert ARM.run(weak, ARM.settle({})).endswith("(MemAvailable), not locked in memory")


@pytest.mark.parametrize(
    ("outcome", "answer", "why"),
    [
        (
            Outcome(status=1, stderr="not armed: MemAvailable is 12.0 GB, below the floor\n"),
            told(),
            "is 12.0 GB",
        ),
        (Outcome(status=0), told(""), "it does not live"),
        (Outcome(status=0), told(mode="reporting"), "it does not live"),
        (Outcome(status=0), "end\n", "it has left no state"),
        (Outcome(status=None, timed_out=True), "end\n", "it has left no state"),
        (Outcome(status=0), "gibberish\nend\n", "could not be read"),
    ],
)
def test_what_is_not_armed_refuses_the_start(outcome, answer, why):
    desk = Desk([answer], made_outcome=outcome)
    with pytest.raises(Refused) as refusal:
        ARM.run(desk, ARM.settle({}))
    assert why in refusal.value.message
    assert "so hicache300 is not started" in refusal.value.message
    assert refusal.value.guard == "memory-guard"
    with pytest.raises(Refused, match="no memory guard is armed"):
        START.run(desk, START.settle({}))
    assert len(desk.made) == 1, "nothing but the guard was tried"


@pytest.mark.parametrize("status", [76, None])
def test_a_second_submission_and_a_lost_connection_are_told_by_its_state(status):
    desk = Desk([told(service=None)], made_outcome=Outcome(status=status))
    assert ARM.run(desk, ARM.settle({}))


def test_a_service_that_could_not_be_started_takes_its_guard_along():
    desk = Desk([told(service=None)])
    ARM.run(desk, ARM.settle({}))
    desk.made_outcome = Outcome(status=1, stdout="systemd-run failed: no\n")
    with pytest.raises(StepFailed, match="systemd-run failed: no"):
        START.run(desk, START.settle({}))
    assert desk.made[-1] == ("fleetops-tell-guard", "/run/fleetops/guard", RUN, "end")


def test_what_was_asked_is_told_as_the_size_says_it():
    flags = (
        Flag(name="enable_hierarchical_cache", value=True),
        Flag(name="hicache_size", value=300, unit="GB", scope="per-rank"),
    )
    desk = Desk([told(service=None)], profile=replace(profile(name="hicache300"), flags=flags))
    ARM.run(desk, ARM.settle({}))
    desk.answers = [told("", mode="killed", killed=KILLED, ended="it has ended the service")]
    assert cause_from_guard(desk, gone=True) == STORY
