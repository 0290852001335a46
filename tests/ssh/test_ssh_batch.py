"""A batch's parts cost only themselves: one hangs, one fails, one floods, one cannot be killed."""

import pytest
from ssh_site import await_gone, running

from fleetops.model.command import Command, shell
from fleetops.model.errors import ConnectionLost
from fleetops.ssh import quote

ECHO = Command(argv=("echo", "fine"))


def test_a_hanging_part_costs_its_own_deadline_only(session):
    outcomes = session.batch([ECHO, Command(argv=("sleep", "61.25"), deadline_s=0.5), ECHO])
    assert [outcome.timed_out for outcome in outcomes] == [False, True, False]
    assert outcomes[2].stdout == "fine\n"
    assert 0.4 < outcomes[1].duration_s < 4
    assert await_gone("61.25") == []


def test_a_part_that_no_signal_reaches_is_left_behind(session, monkeypatch):
    """As with state D: the inner `timeout` (stopped here) never comes back."""
    monkeypatch.setattr(quote, "KILL_AFTER_S", 0.2)
    monkeypatch.setattr(quote, "GIVE_UP_AFTER_S", 0.2)
    stuck = shell("kill -STOP $PPID; exec sleep 3.21", deadline_s=0.3)
    outcomes = session.batch([ECHO, stuck, ECHO])
    assert [outcome.timed_out for outcome in outcomes] == [False, True, False]
    assert [outcome.stdout for outcome in outcomes] == ["fine\n", "", "fine\n"]
    assert await_gone("3.21") == []


def test_the_end_is_the_last_marker_not_the_end_of_the_stream(session):
    """Something that a part leaves behind holds the stream open, and nobody waits for it."""
    outcomes = session.batch([shell("sleep 2.22 & echo started"), ECHO])
    assert [outcome.stdout for outcome in outcomes] == ["started\n", "fine\n"]
    assert running("2.22") != []
    assert await_gone("2.22") == []


def test_statuses_and_both_streams_stay_with_their_parts(session):
    outcomes = session.batch([
        shell("echo out; echo err >&2; exit 7"),
        Command(argv=("/no/such/program",)),
        shell("kill -SEGV $$"),
        shell("printf '%s' 'no newline'; printf x >&2"),
    ])  # fmt: skip
    assert [outcome.status for outcome in outcomes] == [7, 127, 139, 0]
    assert (outcomes[0].stdout, outcomes[0].stderr) == ("out\n", "err\n")
    assert "/no/such/program" in outcomes[1].stderr
    assert outcomes[2].stderr == ""
    assert (outcomes[3].stdout, outcomes[3].stderr) == ("no newline", "x")


def test_binary_output_comes_through(session):
    every_byte = bytes(range(256))
    outcome = session.batch([Command(argv=("cat",), stdin=quote.decode(every_byte)), ECHO])[0]
    assert quote.encode(outcome.stdout) == every_byte


def test_huge_output_is_cut_at_its_limit_and_the_next_part_is_whole(session):
    flood = Command(argv=("head", "-c", "20000000", "/dev/zero"), limit_bytes=1000)
    outcomes = session.batch([flood, ECHO])
    assert (len(outcomes[0].stdout), outcomes[0].truncated) == (1000, True)
    assert (outcomes[1].stdout, outcomes[1].truncated) == ("fine\n", False)


def test_a_part_that_does_not_read_its_input_harms_nobody(session):
    outcomes = session.batch(
        [Command(argv=("true",), stdin="x" * 300_000), Command(argv=("wc", "-c"), stdin="y" * 300_000)]
    )
    assert outcomes[0].status == 0
    assert outcomes[1].stdout.strip() == "300000"


def test_a_part_cannot_read_the_script(session):
    assert [outcome.stdout for outcome in session.batch([Command(argv=("cat",)), ECHO])] == ["", "fine\n"]


def test_a_status_of_124_by_itself_is_no_deadline(session):
    assert not session.batch([shell("exit 124", deadline_s=30)])[0].timed_out


def test_an_empty_batch_asks_nothing(session):
    assert session.batch([]) == []


def test_a_batch_whose_shell_dies_says_how_far_it_came(session):
    """Half of the reads must not look like reads that found nothing."""
    killer = shell("kill -KILL $(ps -o ppid= -p $(ps -o ppid= -p $PPID))")
    with pytest.raises(ConnectionLost, match="after 1 of 3 reads"):
        session.batch([ECHO, killer, ECHO])
