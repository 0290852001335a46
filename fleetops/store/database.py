"""The SQLite file in the state folder: launches, baselines and the identity of hosts."""

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, fields
from pathlib import Path

from fleetops.model.errors import FleetopsError
from fleetops.model.finding import Baseline
from fleetops.model.record import Capacity, LaunchRecord
from fleetops.store.state_file import StateFile


class Store:
    """What is remembered between runs. Safe for several processes; every method is one transaction.

    Where nothing can be written (a read-only folder, a full disk) what is there is read all the same. `tell` gets one word
    where something that was seen is not remembered; what a run cannot do without raises FleetopsError.
    """

    def __init__(self, state: Path, tell: Callable[[str], None] = lambda _text: None) -> None:
        self._file = StateFile(state, "what is remembered between runs")
        self._tell, self._told = tell, False

    def must_be_writable(self) -> None:
        """Raises FleetopsError where it is not: a run that changes something would not be remembered."""
        self._file.must_be_writable()

    def _reading(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._file.reading(whatever_it_is=True)

    def _unwritten(self, error: Exception) -> None:
        """Said once."""
        if not self._told:
            self._told = True
            self._tell(f"{error}; what is seen now is not remembered")

    def record_launch(self, launch: LaunchRecord) -> None:
        """Remember a launch that became ready."""
        row = (launch.node, launch.profile, launch.at, launch.run_id, json.dumps(asdict(launch.capacity)))
        with self._file.writing() as database:
            database.execute("insert into launches values (?, ?, ?, ?, ?)", row)

    def last_launch(self, node: str, *, other_than: str = "") -> LaunchRecord | None:
        """The newest launch on the node, not counting the run `other_than`."""
        query = "select * from launches where node = ? and run_id <> ? order by at desc limit 1"
        with self._reading() as database:
            row = database.execute(query, (node, other_than)).fetchone()
        return _launch(row) if row else None

    def launches(self, *, since: float) -> tuple[LaunchRecord, ...]:
        """Every launch that became ready since then, on any node, the oldest first."""
        query = "select * from launches where at >= ? order by at"
        with self._reading() as database:
            rows = database.execute(query, (since,)).fetchall()
        return tuple(_launch(row) for row in rows)

    def record_baseline(self, node: str, at: float, baseline: Baseline) -> None:
        """Remember how the idle node looks; the newest one counts."""
        with self._file.writing() as database:
            database.execute(
                "insert or replace into baselines values (?, ?, ?)", (node, at, json.dumps(asdict(baseline)))
            )

    def baseline(self, node: str) -> Baseline | None:
        """How the idle node looked when last seen idle."""
        with self._reading() as database:
            row = database.execute("select baseline from baselines where node = ?", (node,)).fetchone()
        return _baseline(row[0]) if row else None

    def baselines(self) -> dict[str, Baseline]:
        """How every node looked when last seen idle, by name."""
        with self._reading() as database:
            rows = database.execute("select node, baseline from baselines order by node").fetchall()
        return {node: _baseline(text) for node, text in rows}

    def forget_baseline(self, node: str) -> Baseline | None:
        """Remember no more how the idle node looked; what was remembered."""
        known = self.baseline(node)
        with self._file.writing() as database:
            database.execute("delete from baselines where node = ?", (node,))
        return known

    def record_machine_id(self, name: str, machine_id: str, at: float) -> None:
        """Remember a host's machine-id on first contact; a recorded one is never overwritten. A look goes on without it."""
        if self.machine_id(name):
            return
        try:
            with self._file.writing() as database:
                database.execute("insert or ignore into hosts values (?, ?, ?)", (name, machine_id, at))
        except FleetopsError as error:
            self._unwritten(error)

    def machine_id(self, name: str) -> str:
        """The machine-id recorded on first contact; "" before it."""
        with self._reading() as database:
            row = database.execute("select machine_id from hosts where name = ?", (name,)).fetchone()
        return row[0] if row else ""


def _launch(row: Sequence[str | float]) -> LaunchRecord:
    node, profile, at, run_id, capacity = row
    return LaunchRecord(
        node=str(node),
        profile=str(profile),
        at=float(at),
        run_id=str(run_id),
        capacity=_capacity(str(capacity)),
    )


def _baseline(text: str) -> Baseline:
    """As any release wrote it, likewise."""
    known = {field.name for field in fields(Baseline)}
    return Baseline(**{name: value for name, value in json.loads(text).items() if name in known})


def _capacity(text: str) -> Capacity:
    """As any release wrote it: what an older one did not record is None, what only a newer one knows is left out."""
    known = {field.name for field in fields(Capacity)}
    return Capacity(**{name: value for name, value in json.loads(text).items() if name in known})
