"""When a service hangs: several generations without an answer for long. One that is late, or turned away, is no sign."""

import threading
from dataclasses import dataclass, field

import pytest

from fleetops.model.errors import Unreachable
from fleetops.steps.support.pulse import Pulse
from fleetops.steps.support.serving import NoGeneration

SILENT = NoGeneration("no answer in 60 s", silent=True)


@dataclass
class Service:
    """Answers when it is told to; every call waits for its turn."""

    turns: list[threading.Event] = field(default_factory=list)
    errors: dict[int, Exception] = field(default_factory=dict)
    over: threading.Event = field(default_factory=threading.Event)

    def generate(self) -> int:
        turn, number = threading.Event(), len(self.turns)
        self.turns.append(turn)
        assert turn.wait(20)
        if number in self.errors:
            raise self.errors[number]
        return 1


class Watch:
    """A pulse on a clock of its own."""

    def __init__(self) -> None:
        self.at = 0.0
        self.service = Service()
        self.pulse = Pulse(self.service.generate, every_s=10, hang_s=60, now=lambda: self.at)

    def beat(self, at: float) -> str:
        self.at = at
        before = len(self.service.turns)
        self.pulse.beat()
        if at >= before * 10:
            await_that(lambda: len(self.service.turns) > before)
        return self.pulse.verdict()

    def answer(self, number: int, error: Exception | None = None) -> None:
        if error:
            self.service.errors[number] = error
        sample = {one.begun: one for one in self.pulse._samples}[number * 10]
        self.service.turns[number].set()
        await_that(lambda: sample.work.has_ended)


def await_that(is_true) -> None:
    clock = threading.Event()
    for _ in range(2000):
        if is_true():
            return
        clock.wait(0.005)
    pytest.fail("it never came")


@pytest.fixture
def watch():
    made = Watch()
    yield made
    for turn in made.service.turns:
        turn.set()


def test_a_service_that_answers_is_well(watch):
    for number in range(10):
        assert watch.beat(number * 10) == ""
        watch.answer(number)
        assert watch.pulse.has_answered(number * 10)


def test_one_that_never_answers_hangs_after_a_minute_and_not_before(watch):
    assert [watch.beat(at) for at in range(0, 60, 10)] == [""] * 6
    assert watch.beat(60) == "it hangs: no answer to 7 generations of one token in 60 s"


def test_one_that_answers_late_but_answers_does_not_hang(watch):
    """Every answer takes 55 s, behind long prompts: seven are under way at any time."""
    for at in range(0, 200, 5):
        assert watch.beat(at) == ""
        if at >= 55 and (at - 55) % 10 == 0:
            watch.answer((at - 55) // 10)


def test_an_answer_clears_what_was_begun_before_it(watch):
    for at in range(0, 60, 10):
        watch.beat(at)
    watch.answer(5)
    assert [watch.beat(at) for at in range(60, 110, 10)] == [""] * 5
    assert watch.beat(120).startswith("it hangs")


def test_samples_that_ran_out_of_time_stay_without_an_answer(watch):
    for at in range(0, 60, 10):
        watch.beat(at)
        watch.answer(at // 10, SILENT)
    assert watch.beat(60).startswith("it hangs")


def test_too_few_samples_prove_nothing(watch):
    watch.beat(0)
    watch.at = 500
    assert watch.pulse.verdict() == ""


def test_three_failures_in_a_row_are_told_with_the_last(watch):
    for number in range(2):
        assert watch.beat(number * 10) == ""
        watch.answer(number, NoGeneration(f"status 500, {number}"))
        assert watch.pulse.verdict() == ""
    watch.beat(20)
    watch.answer(2, NoGeneration("status 500, no memory"))
    assert watch.pulse.verdict() == "3 generations in a row came to nothing: status 500, no memory"


def test_an_answer_between_failures_starts_the_count_anew(watch):
    for number in range(8):
        watch.beat(number * 10)
        watch.answer(number, NoGeneration("status 500") if number % 3 else None)
        assert watch.pulse.verdict() == ""


def test_being_turned_away_for_its_load_is_a_sign_of_life(watch):
    for number in range(10):
        watch.beat(number * 10)
        watch.answer(number, NoGeneration("status 503, the queue is full", busy=True))
        assert watch.pulse.verdict() == ""


def test_a_connection_that_is_lost_says_nothing_about_the_service(watch):
    for number in range(10):
        watch.beat(number * 10)
        watch.answer(number, Unreachable("the connection broke"))
        assert watch.pulse.verdict() == ""
        assert not watch.pulse.has_answered(number * 10)
