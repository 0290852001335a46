"""`--from` and `--only`: a part of a playbook, which says what it leaves out, and never what a step rests on."""

import pytest

from fleetops.model.errors import UsageError
from fleetops.playbook.load import shipped_playbook, without_relaunch
from fleetops.playbook.parts import from_step, only_step


def steps(book):
    return [entry.step for entry in book.entries]


def test_from_a_step_on_leaves_out_what_comes_before_and_says_so():
    book = from_step(shipped_playbook("kill"), "stop-service")
    assert steps(book) == ["stop-service", "clear-leftovers"]
    assert book.left_out == "--from stop-service: keep-evidence left out"


def test_only_a_step_keeps_its_options_and_conditions():
    whole = shipped_playbook("recover")
    book = only_step(whole, "reset-gpus")
    assert book.entries == tuple(entry for entry in whole.entries if entry.step == "reset-gpus")
    assert book.entries[0].when
    assert "stop-service" in book.left_out


def test_from_the_first_step_is_the_whole_playbook():
    book = shipped_playbook("kill")
    assert from_step(book, "keep-evidence") == book


def test_a_step_that_is_not_there_is_named_with_its_nearest():
    with pytest.raises(UsageError, match="playbook kill has no step 'stop-servise'") as caught:
        from_step(shipped_playbook("kill"), "stop-servise")
    assert caught.value.hint == "did you mean `stop-service`?"


@pytest.mark.parametrize(
    ("part", "step", "lacking"),
    [
        (from_step, "start-service", "prove, size, preflight, start-guard"),
        (from_step, "size", "prove"),
        (only_step, "start-service", "prove, size, preflight, start-guard"),
        (only_step, "await-ready", "start-service"),
        (from_step, "record-launch", "await-ready"),
    ],
)
def test_nothing_starts_without_what_it_rests_on(part, step, lacking):
    with pytest.raises(UsageError, match=f"leaves out {lacking}, which .* rests on"):
        part(shipped_playbook("launch"), step)


def test_two_parts_say_both():
    part = from_step(shipped_playbook("host-reboot-assist"), "await-reboot")
    book = without_relaunch(part, "--profile P asks for a relaunch")
    assert steps(book) == ["await-reboot", "verify-reclaimed"]
    assert book.left_out == (
        "--from await-reboot: keep-evidence, stop-service left out; --profile P asks for a relaunch:"
        " prove, size, preflight, start-guard, start-service, await-ready, record-launch left out"
    )


def test_a_part_is_shown_and_its_numbers_are_its_own():
    book = from_step(shipped_playbook("drain-and-restart"), "stop-service")
    assert steps(book)[0] == "stop-service"
    # The second proof stays: a part of a restart starts nothing unproven.
    assert {"prove", "size"} <= set(steps(book))
