"""The journal: on disk before the change, private, and readable after a crash in the middle of a line."""

import resource
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetops.model.command import Command, Outcome
from fleetops.model.errors import FleetopsError
from fleetops.playbook.journal import Journal, command_entry, list_runs, outcome_entry, read_events


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    journal = Journal(tmp_path, "20261129-140200-node-174")
    journal.write("begin", 1.0, playbook="recover", node="node-174")
    return journal


def test_every_event_is_there_in_order_as_soon_as_it_is_written(journal: Journal):
    journal.write("intent", 2.0, argv=["kill"])
    assert [event["event"] for event in read_events(journal.folder)] == ["begin", "intent"]


def test_the_files_are_private(journal: Journal):
    kept = journal.keep("engine.log", "text")
    for path in (journal.folder / "journal.jsonl", kept):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(journal.folder.stat().st_mode) == 0o700


def test_evidence_is_never_overwritten_and_its_name_cannot_leave_the_folder(journal: Journal):
    assert journal.keep("../../etc/passwd", "text").parent == journal.folder
    with pytest.raises(FleetopsError, match="File exists"):
        journal.keep("../../etc/passwd", "other")


def test_a_run_without_an_end_is_told_as_unfinished(journal: Journal, tmp_path: Path):
    journal.write("intent", 2.0, argv=["kill"])
    [run] = list_runs(tmp_path)
    assert run.status == "unfinished"
    assert "intent" in run.why


def test_a_line_cut_off_by_a_crash_loses_only_itself(journal: Journal):
    with (journal.folder / "journal.jsonl").open("a") as file:
        file.write('{"at": 2, "event": "int')
    assert [event["event"] for event in read_events(journal.folder)] == ["begin"]


def test_a_finished_run_says_how_it_ended(journal: Journal, tmp_path: Path):
    journal.write("end", 9.0, status="refused", why="guest 174 is locked")
    [run] = list_runs(tmp_path)
    assert (run.status, run.why, run.ended_at) == ("refused", "guest 174 is locked", 9.0)


def test_the_same_run_id_is_refused_before_anything_is_written(journal: Journal, tmp_path: Path):
    with pytest.raises(FleetopsError, match="nothing was changed"):
        Journal(tmp_path, journal.run_id)


def test_secrets_are_masked_and_standard_input_is_not_kept():
    entry = command_entry(
        "node-174", Command(argv=("serve", "--api-key", "s3cret", "HF_TOKEN=abc"), stdin="X=secret")
    )
    assert "s3cret" not in str(entry)
    assert "abc" not in str(entry)
    assert "X=secret" not in str(entry)
    assert "--api-key" in entry["argv"]


def test_a_line_of_a_log_that_tells_how_a_run_ended_loses_its_secrets(journal: Journal):
    journal.write(
        "end", 9.0, status="failed", why="died: cannot use --api-key s3cret", hint="HF_TOKEN=s3cret"
    )
    assert "s3cret" not in (journal.folder / "journal.jsonl").read_text()
    assert "cannot use --api-key" in read_events(journal.folder)[-1]["why"]


def test_what_was_proven_is_written_as_it_stands_in_the_source(journal: Journal):
    journal.write("proofs", 9.0, flags={"x": {"text": "self.token_pool = token_pool"}})
    assert read_events(journal.folder)[-1]["flags"]["x"]["text"] == "self.token_pool = token_pool"


def test_the_end_of_a_long_output_is_what_is_kept():
    entry = outcome_entry(Outcome(status=1, stdout="a" * 10_000 + "the end"))
    assert entry["stdout"].endswith("the end")
    assert len(entry["stdout"]) < 5000


@pytest.fixture
def full_disk(journal: Journal) -> Iterator[None]:
    """The kernel lets no file grow beyond what the journal has now."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = (journal.folder / "journal.jsonl").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_on_a_full_disk_no_further_change_can_be_written_down_and_so_none_is_made(
    journal: Journal, full_disk
):
    with pytest.raises(FleetopsError, match=r"cannot write the journal .* nothing more is changed"):
        journal.write("intent", 2.0, argv=["kill"])
    assert [event["event"] for event in read_events(journal.folder)] == ["begin"]
