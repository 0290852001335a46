"""The breaker's memory, in the controller's SQLite file: recoveries that count, whether it is open, who closed it and why.

Whether one more node may be recovered, and that it is, are one transaction: of several controllers on one state folder
none sees a number that another is about to change.
"""

import json
import sqlite3
from dataclasses import astuple, fields, replace
from pathlib import Path

from fleetops.model.breaker import Breaker, BreakerReset, CountedRun
from fleetops.model.fleet import Settings
from fleetops.store.state_file import StateFile

WINDOW_S = 24 * 3600.0
"""What ended longer ago is no part of today's trouble."""

_SHOWN_RESETS = 10
_COLUMNS = ", ".join(field.name for field in fields(CountedRun))


class BreakerStore:
    """What the breaker of one state folder counts. Safe for several processes; raises FleetopsError where it cannot work."""

    def __init__(self, state: Path, limit: int = Settings().breaker) -> None:
        self._file = StateFile(state, "what the breaker counts")
        self._limit = limit

    def read(self, now: float) -> Breaker:
        """How it stands; nothing is written for that. Where nothing was ever counted, it is closed."""
        with self._file.reading() as database:
            return self._read(database, now)

    def begin(self, run: CountedRun) -> Breaker | None:
        """Count a run that is about to begin. Where it may not, nothing is counted: the breaker, open from now on."""
        with self._file.writing() as database:
            seen = self._read(database, run.began_at)
            if why := seen.holds_up(run.node):
                return seen if seen.is_open else _opened(database, seen, run.began_at, why)
            _put(database, run)
            return None

    def drop(self, run_id: str) -> None:
        """A run that has changed nothing never counted."""
        with self._file.writing() as database:
            database.execute("delete from recoveries where run_id = ?", (run_id,))

    def end_badly(self, run: CountedRun, now: float) -> None:
        """A run has ended, and its node is not well: it goes on counting, also where a person has closed the breaker since."""
        with self._file.writing() as database:
            _put(database, run)
            seen = self._read(database, now)
            if len(seen.nodes) >= self._limit and not seen.is_open:
                _opened(database, seen, now, seen.too_many)

    def well(self, node: str, playbook: str = "") -> None:
        """The node is well: none of its runs counts any more; with `playbook`, none of that one's."""
        where, values = (" and playbook = ?", (node, playbook)) if playbook else ("", (node,))
        with self._file.writing() as database:
            database.execute(f"delete from recoveries where node = ?{where}", values)  # noqa: S608 - two constants

    def forget(self, node: str) -> None:
        """As if this node had never been in trouble, and the breaker never opened: for a simulated node made anew."""
        with self._file.writing() as database:
            database.execute("delete from recoveries where node = ?", (node,))
            database.execute("delete from breaker")

    def reset(self, now: float, who: str, why: str) -> Breaker:
        """Close it: nothing that has happened so far counts any more. How it stood until then."""
        with self._file.writing() as database:
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
