"""Commands over a real OpenSSH server."""

import pytest

from fleetops.model.command import Command, shell


def test_a_command_runs_and_its_streams_and_status_come_back(session):
    outcome = session.run(shell("printf out; printf err >&2; exit 3"))
    assert (outcome.status, outcome.stdout, outcome.stderr) == (3, "out", "err")
    assert not outcome.ok and not outcome.timed_out and not outcome.truncated


def test_standard_input_arrives_and_ends(session):
    text = "no newline at the end \udcff 'quoted' $HOME"
    assert session.run(Command(argv=("cat",), stdin=text)).stdout == text


def test_a_batch_answers_part_by_part(session):
    outcomes = session.batch(
        [
            Command(argv=("echo", "one")),
            Command(argv=("false",)),
            Command(argv=("cat",), stdin="x\0y"),
            Command(argv=("no-such",)),
        ]
    )
    assert [o.status for o in outcomes] == [0, 1, 0, 127]
    assert outcomes[0].stdout == "one\n"
    assert outcomes[2].stdout == "x\0y"
