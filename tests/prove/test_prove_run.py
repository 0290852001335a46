"""A run proves again what its plan rests on: the journal keeps it, and a meaning that has changed meanwhile ends it."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from local_session import LocalSession
from node_scenes import NODE
from proof_scenes import asking, launching, proven, unproven

from fleetops.model.fleet import Inventory
from fleetops.model.proof import Explanation
from fleetops.model.record import Result
from fleetops.playbook import lock
from fleetops.playbook.book import Entry, Playbook
from fleetops.playbook.desk import RunDesk, Tools
from fleetops.playbook.journal import Journal
from fleetops.playbook.runner import Runner
from fleetops.steps.support.base import Situation
from fleetops.store.database import Store

BOOK = Playbook(name="launch", summary="", entries=(Entry(step="prove"), Entry(step="size")))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run `prove` and `size` from a planned situation, on a node whose source shows this when it is read again."""
    monkeypatch.setattr(lock, "_FOLDER", str(tmp_path / "locks"))

    def go(planned: Situation, *again: Explanation) -> Result:
        tools = Tools(
            inventory=Inventory(path=tmp_path, nodes={"node-174": NODE}),
            observe=lambda: planned.observation,
            prove=lambda situation: replace(situation, proofs={proof.flag: proof for proof in again}),
            session=lambda _: LocalSession(),
            store=Store(tmp_path),
            sink=lambda _: None,
        )
        return Runner(BOOK, RunDesk(tools, Journal(tmp_path, planned.run_id), planned)).run()

    return go


def journal(result: Result) -> list[dict]:
    return [json.loads(line) for line in (Path(result.evidence) / "journal.jsonl").read_text().splitlines()]


def test_the_same_proof_again_goes_on_and_is_written_down(run):
    result = run(launching(asking(), proven()), proven())
    assert result.status == "done"
    [written] = [event for event in journal(result) if event["event"] == "proofs"]
    kept = written["flags"]["hicache_size"]
    assert (kept["verdict"], kept["unit"], kept["scope"]) == ("proven", "GB", "per-rank")
    assert kept["proof"][-1]["file"] == "srt/mem_cache/memory_pool_host.py"


def test_a_source_that_was_touched_and_means_the_same_goes_on(run):
    assert run(launching(asking(), proven()), proven(tree_sha256="c" * 64)).status == "done"


@pytest.mark.parametrize(
    "now",
    [proven(scope="total"), proven(unit="GiB"), proven(simultaneous=2)],
    ids=["scope", "unit", "pools"],
)
def test_a_meaning_that_has_changed_since_the_plan_ends_the_run(run, now):
    result = run(launching(asking(48, None, None), proven()), now)
    assert (result.status, result.guard) == ("refused", "proof")
    assert "has changed since the plan was made: hicache_size was GB per rank" in result.why


def test_a_source_that_cannot_be_followed_any_more_is_refused_with_the_place(run):
    result = run(launching(asking(), proven()), unproven())
    assert (result.status, result.guard) == ("refused", "proof")
    assert "srt/pools.py:12" in result.why


def test_what_could_not_be_read_at_the_plan_is_proven_at_the_run(run):
    """As on a wedged node: once it is clean, its source can be read."""
    planned = launching(asking(), unproven(because="no answer in 60 s"))
    assert run(planned, proven()).status == "done"


def test_waivers_are_journaled_with_their_reasons_and_told_in_the_result(run):
    reasons = {"proof": "read by hand", "size": "an empty machine"}
    result = run(launching(asking(300), unproven(), waived=reasons), unproven())
    assert result.status == "done"
    assert result.waived == reasons
    begin, *events = journal(result)
    assert begin["waived"] == reasons
    told = {event["step"]: event["detail"] for event in events if event["event"] == "step-end"}
    assert "waived: read by hand" in told["prove"]
    assert "waived: an empty machine" in told["size"]


def test_a_waived_proof_does_not_waive_the_size(run):
    result = run(launching(asking(300), unproven(), waived={"proof": "read by hand"}), unproven())
    assert (result.status, result.guard) == ("refused", "size")


def test_the_size_of_the_run_rests_on_the_proof_of_the_run(run):
    result = run(launching(asking(200, None, "per-rank"), unproven()), proven())
    assert (result.status, result.guard) == ("refused", "size")
    assert "1,600 GB" in result.why
