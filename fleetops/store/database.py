"""The SQLite file in the state folder: launches, baselines and the identity of hosts."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path

from fleetops.model.finding import Baseline
from fleetops.model.record import Capacity, LaunchRecord

_SCHEMA = """
create table if not exists launches (
    node text not null, profile text not null, at real not null, run_id text not null, capacity text not null
);
create table if not exists baselines (node text primary key, at real not null, baseline text not null);
create table if not exists hosts (name text primary key, machine_id text not null, first_seen real not null);
"""


class Store:
    """What is remembered between runs. Safe for several processes; every method is one transaction."""

    def __init__(self, state: Path) -> None:
        self._path = state / "fleetops.db"
        with self._open() as database:
            database.executescript(_SCHEMA)
        self._path.chmod(0o600)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        database = sqlite3.connect(self._path, timeout=10)
        try:
            with database:
                yield database
        finally:
            database.close()

    def record_launch(self, launch: LaunchRecord) -> None:
        """Remember a launch that became ready."""
        row = (launch.node, launch.profile, launch.at, launch.run_id, json.dumps(asdict(launch.capacity)))
        with self._open() as database:
            database.execute("insert into launches values (?, ?, ?, ?, ?)", row)

    def last_launch(self, node: str, *, other_than: str = "") -> LaunchRecord | None:
        """The newest launch on the node, not counting the run `other_than`."""
        query = "select * from launches where node = ? and run_id <> ? order by at desc limit 1"
        with self._open() as database:
            row = database.execute(query, (node, other_than)).fetchone()
        if row is None:
            return None
        name, profile, at, run_id, capacity = row
        return LaunchRecord(node=name, profile=profile, at=at, run_id=run_id, capacity=_capacity(capacity))

    def record_baseline(self, node: str, at: float, baseline: Baseline) -> None:
        """Remember how the idle node looks; the newest one counts."""
        with self._open() as database:
            database.execute(
                "insert or replace into baselines values (?, ?, ?)", (node, at, json.dumps(asdict(baseline)))
            )

    def baseline(self, node: str) -> Baseline | None:
        """How the idle node looked when last seen idle."""
        with self._open() as database:
            row = database.execute("select baseline from baselines where node = ?", (node,)).fetchone()
        return _baseline(row[0]) if row else None

    def baselines(self) -> dict[str, Baseline]:
        """How every node looked when last seen idle, by name."""
        with self._open() as database:
            rows = database.execute("select node, baseline from baselines order by node").fetchall()
        return {node: _baseline(text) for node, text in rows}

    def forget_baseline(self, node: str) -> Baseline | None:
        """Remember no more how the idle node looked; what was remembered."""
        known = self.baseline(node)
        with self._open() as database:
            database.execute("delete from baselines where node = ?", (node,))
        return known

    def record_machine_id(self, name: str, machine_id: str, at: float) -> None:
        """Remember a host's machine-id on first contact; a recorded one is never overwritten."""
        with self._open() as database:
            database.execute("insert or ignore into hosts values (?, ?, ?)", (name, machine_id, at))

    def machine_id(self, name: str) -> str:
        """The machine-id recorded on first contact; "" before it."""
        with self._open() as database:
            row = database.execute("select machine_id from hosts where name = ?", (name,)).fetchone()
        return row[0] if row else ""


def _baseline(text: str) -> Baseline:
    """As any release wrote it, likewise."""
    known = {field.name for field in fields(Baseline)}
    return Baseline(**{name: value for name, value in json.loads(text).items() if name in known})


def _capacity(text: str) -> Capacity:
    """As any release wrote it: what an older one did not record is None, what only a newer one knows is left out."""
    known = {field.name for field in fields(Capacity)}
    return Capacity(**{name: value for name, value in json.loads(text).items() if name in known})
