"""The breaker's memory, in the controller's SQLite file: recoveries that count, whether it is open, who closed it and why.

Whether one more node may be recovered, and that it is, are one transaction: of several controllers on one state folder
none sees a number that another is about to change.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import astuple, fields, replace
from pathlib import Path

from fleetops.model.breaker import Breaker, BreakerReset, CountedRun
from fleetops.model.errors import FleetopsError
from fleetops.model.fleet import Settings

WINDOW_S = 24 * 3600.0
"""What ended longer ago is no part of today's trouble."""

_PATIENCE_S = 10.0
_SHOWN_RESETS = 10
_COLUMNS = ", ".join(field.name for field in fields(CountedRun))
_SCHEMA = """
create table if not exists recoveries (
    run_id text primary key, node text not null, playbook text not null, began_at real not null,
    status text not null, ended_at real, why text not null
);
create table if not exists breaker (one integer primary key check (one = 1), at real not null, why text not null);
create table if not exists breaker_resets (at real not null, who text not null, why text not null, nodes text not null);
"""


class BreakerStore:
    """What the breaker of one state folder counts. Safe for several processes; raises FleetopsError where it cannot work."""

    def __init__(self, state: Path, limit: int = Settings().breaker) -> None:
        self._path = state / "fleetops.db"
        self._limit = limit

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """One transaction, begun as a writer: what is read in it stays true until it ends."""
        try:
            database = sqlite3.connect(self._path, timeout=_PATIENCE_S, isolation_level=None)
            try:
                database.execute("begin immediate")
                self._path.chmod(0o600)
                for statement in _SCHEMA.strip().split(";\n"):
                    database.execute(statement)
                yield database
                database.execute("commit")
            finally:
                database.close()
        except (sqlite3.Error, OSError) as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> FleetopsError:
        return FleetopsError(
            f"what the breaker counts cannot be read or written in {self._path}: {error}",
            hint="free some disk, or choose another state folder (FLEETOPS_STATE)",
        )

    def read(self, now: float) -> Breaker:
        """How it stands; nothing is written for that. Where nothing was ever counted, it is closed."""
        if not self._path.exists():
            return Breaker(limit=self._limit, runs=())
        try:
            with closing(
                sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=ro", _PATIENCE_S, uri=True)
            ) as database:
                tables = database.execute(
                    "select count(*) from sqlite_master where name = 'recoveries'"
                ).fetchone()
                return self._read(database, now) if tables[0] else Breaker(limit=self._limit, runs=())
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def begin(self, run: CountedRun) -> Breaker | None:
        """Count a run that is about to begin. Where it may not, nothing is counted: the breaker, open from now on."""
        with self._open() as database:
            seen = self._read(database, run.began_at)
            if why := seen.holds_up(run.node):
                return seen if seen.is_open else _opened(database, seen, run.began_at, why)
            _put(database, run)
            return None

    def drop(self, run_id: str) -> None:
        """A run that has changed nothing never counted."""
        with self._open() as database:
            database.execute("delete from recoveries where run_id = ?", (run_id,))

    def end_badly(self, run: CountedRun, now: float) -> None:
        """A run has ended, and its node is not well: it goes on counting, also where a person has closed the breaker since."""
        with self._open() as database:
            _put(database, run)
            seen = self._read(database, now)
            if len(seen.nodes) >= self._limit and not seen.is_open:
                _opened(database, seen, now, seen.too_many)

    def well(self, node: str, playbook: str = "") -> None:
        """The node is well: none of its runs counts any more; with `playbook`, none of that one's."""
        where, values = (" and playbook = ?", (node, playbook)) if playbook else ("", (node,))
        with self._open() as database:
            database.execute(f"delete from recoveries where node = ?{where}", values)  # noqa: S608 - two constants

    def forget(self, node: str) -> None:
        """As if this node had never been in trouble, and the breaker never opened: for a simulated node made anew."""
        with self._open() as database:
            database.execute("delete from recoveries where node = ?", (node,))
            database.execute("delete from breaker")

    def reset(self, now: float, who: str, why: str) -> Breaker:
        """Close it: nothing that has happened so far counts any more. How it stood until then."""
        with self._open() as database:
            seen = self._read(database, now)
            database.execute("delete from breaker")
            database.execute("delete from recoveries")
            row = (now, who, why, json.dumps(seen.nodes))
            database.execute("insert into breaker_resets values (?, ?, ?, ?)", row)
            return seen

    def _read(self, database: sqlite3.Connection, now: float) -> Breaker:
        query = (
            f"select {_COLUMNS} from recoveries where coalesce(ended_at, began_at) > ?"  # noqa: S608 - a constant
            " order by began_at desc, run_id desc"
        )
        runs = [
            CountedRun(**dict(zip(_names(), row, strict=True)))
            for row in database.execute(query, (now - WINDOW_S,))
        ]
        opened = database.execute("select at, why from breaker").fetchone()
        resets = database.execute(
            "select at, who, why, nodes from breaker_resets order by at desc limit ?", (_SHOWN_RESETS,)
        )
        return Breaker(
            limit=self._limit,
            runs=tuple(runs),
            opened_at=opened[0] if opened else None,
            opened_why=opened[1] if opened else "",
            resets=tuple(
                BreakerReset(at=at, who=who, why=why, nodes=tuple(json.loads(nodes)))
                for at, who, why, nodes in resets
            ),
        )


def _names() -> list[str]:
    return [field.name for field in fields(CountedRun)]


def _put(database: sqlite3.Connection, run: CountedRun) -> None:
    marks = ", ".join("?" * len(_names()))
    database.execute(f"insert or replace into recoveries ({_COLUMNS}) values ({marks})", astuple(run))  # noqa: S608


def _opened(database: sqlite3.Connection, seen: Breaker, now: float, why: str) -> Breaker:
    database.execute("insert or replace into breaker values (1, ?, ?)", (now, why))
    return replace(seen, opened_at=now, opened_why=why)
