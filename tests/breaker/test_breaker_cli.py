"""`fleetops breaker` as its user sees it."""

import io
import json
import time
from pathlib import Path
from typing import Any

import pytest

from fleetops.cli.program import run
from fleetops.cli.world import World
from fleetops.model.breaker import CountedRun
from fleetops.playbook.lock import Owner
from fleetops.store.breaker import BreakerStore

NOW = time.time()


class Caller:
    """The command line in this process, on an inventory of one node and a breaker of two."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "inventory/state").mkdir(parents=True)
        (folder / "inventory/fleet.yaml").write_text(
            "nodes: {n1: {address: 127.0.0.1}}\nsettings: {state: state, breaker: 2}\n"
        )
        self.store = BreakerStore(folder / "inventory/state", 2)

    def __call__(self, *words: str) -> "Caller":
        out, err = io.StringIO(), io.StringIO()
        environ = {"HOME": str(self.folder)}
        world = World(stdin=io.StringIO(), stdout=out, stderr=err, environ=environ, cwd=self.folder)
        self.status = run(list(words), world)
        self.stdout, self.stderr = out.getvalue(), err.getvalue()
        return self

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)


@pytest.fixture
def fleetops(tmp_path: Path) -> Caller:
    return Caller(tmp_path)


def failed(fleetops: Caller, *nodes: str) -> None:
    for node in nodes:
        run_id, what = f"run-{node}", {"status": "failed", "ended_at": NOW, "why": "it broke"}
        failure = CountedRun(run_id=run_id, node=node, playbook="recover", began_at=NOW, **what)  # type: ignore[arg-type]
        fleetops.store.end_badly(failure, NOW)


def test_with_nothing_wrong_it_is_closed(fleetops):
    ran = fleetops("breaker")
    assert ran.status == 0
    assert ran.stdout == "breaker closed: 0 of 2 nodes under recovery or failed\n"


def test_open_it_says_since_when_what_counts_and_how_it_is_closed(fleetops):
    failed(fleetops, "n1", "n2")
    ran = fleetops("breaker")
    assert ran.status == 1
    first = ran.stdout.splitlines()[0]
    assert first.startswith("breaker open since 20")
    assert "2 nodes are under recovery or failed (n[1-2]), 2 is the limit" in first
    for node in ("n1", "n2"):
        assert f"run-{node}" in ran.stdout
    assert "it broke" in ran.stdout
    assert "breaker reset" in ran.stdout


def test_a_person_closes_it_with_a_reason_that_is_kept_with_their_name(fleetops):
    failed(fleetops, "n1", "n2")
    ran = fleetops("breaker", "reset", "--why", "the rack had no cooling")
    assert ran.status == 0, ran.stderr
    me = Owner.this_process("")
    assert f"by {me.user} on {me.controller}: the rack had no cooling" in ran.stdout
    assert "n[1-2] no longer counted" in ran.stdout
    shown = fleetops("breaker", "--json")
    assert shown.status == 0
    assert (shown.json["open"], shown.json["nodes"], shown.json["limit"]) == (False, [], 2)
    (reset,) = shown.json["resets"]
    assert (reset["why"], reset["nodes"]) == ("the rack had no cooling", ["n1", "n2"])


@pytest.mark.parametrize("words", [("reset",), ("reset", "--why", "  "), ("--why", "because")])
def test_without_a_reason_nothing_is_closed(fleetops, words):
    failed(fleetops, "n1", "n2")
    ran = fleetops("breaker", *words)
    assert ran.status == 2
    assert 'fleetops breaker reset --why "' in ran.stderr
    assert fleetops("breaker").status == 1


def test_the_reason_comes_to_no_terminal_raw(fleetops):
    fleetops("breaker", "reset", "--why", "a\x1b[31mred")
    assert "\x1b" not in fleetops("breaker").stdout
