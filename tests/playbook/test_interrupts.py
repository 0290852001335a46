"""Ctrl-C while a change is on its way: noted, acted on afterwards; a second one acts at once."""

import os
import signal

import pytest

from fleetops.playbook.interrupts import held_back


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def change(told: list[str], done: list[str], *, interruptions: int) -> None:
    with held_back(told.append):
        for _ in range(interruptions):
            interrupt()
        done.append("the change")


def test_the_change_ends_before_the_interruption_is_acted_on():
    told, done = [], []
    with pytest.raises(KeyboardInterrupt):
        change(told, done, interruptions=1)
    assert done == ["the change"]
    assert "must end first" in told[0]


def test_a_second_interruption_acts_at_once():
    done = []
    with pytest.raises(KeyboardInterrupt):
        change([], done, interruptions=2)
    assert done == []


def test_afterwards_signals_do_what_they_did_before():
    before = signal.getsignal(signal.SIGINT)
    with held_back(lambda _: None):
        pass
    assert signal.getsignal(signal.SIGINT) is before


def test_without_an_interruption_nothing_is_raised():
    with held_back(lambda _: None):
        done = True
    assert done
