"""The one SQLite file in the state folder, as everything that remembers something in it opens it."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from fleetops.model.errors import FleetopsError

# Each brings the file from one version to the next, and is never changed once it was released.
_MIGRATIONS = (
    (
        """create table if not exists launches (
            node text not null, profile text not null, at real not null, run_id text not null, capacity text not null
        )""",
        """create table if not exists baselines (
            node text primary key, at real not null, baseline text not null
        )""",
        """create table if not exists hosts (
            name text primary key, machine_id text not null, first_seen real not null
        )""",
        """create table if not exists recoveries (
            run_id text primary key, node text not null, playbook text not null, began_at real not null,
            status text not null, ended_at real, why text not null
        )""",
        """create table if not exists breaker (
            one integer primary key check (one = 1), at real not null, why text not null
        )""",
        """create table if not exists breaker_resets (
            at real not null, who text not null, why text not null, nodes text not null
        )""",
    ),
    (
        """create table sweeps (
            number integer primary key autoincrement, at real not null, seconds real not null, hosts integer not null
        )""",
        """create table health (
            host text not null, at real not null, severity text not null, primary key (host, at)
        ) without rowid""",
        """create table samples (
            host text not null, name text not null, at real not null, value real not null,
            primary key (host, name, at)
        ) without rowid""",
        """create table words (
            host text not null, name text not null, at real not null, text text not null, primary key (host, name)
        ) without rowid""",
        """create table findings (
            host text not null, subject text not null, "check" text not null, severity text not null,
            evidence text not null, next text not null, first_seen real not null, last_seen real not null,
            sightings text not null, count integer not null, firm integer not null, cleared_at real,
            primary key (host, "check", subject)
        ) without rowid""",
        """create table acknowledged (
            host text not null, "check" text not null, at real not null, who text not null, why text not null,
            primary key (host, "check")
        ) without rowid""",
        """create table silences (
            host text not null, "check" text not null, until real not null, at real not null, who text not null,
            why text not null, primary key (host, "check")
        ) without rowid""",
    ),
)
_PATIENCE_S = 10.0


class StateFile:
    """Safe for several processes. `what` says what is kept there, for the errors."""

    def __init__(self, state: Path, what: str) -> None:
        self._path = state / "fleetops.db"
        self._what = what

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction, begun as a writer: what is read in it stays true until it ends.

        Raises FleetopsError where the file cannot be written, and leaves it as it is.
        """
        hint = "free some disk, or choose another state folder (FLEETOPS_STATE)"
        try:
            with closing(sqlite3.connect(self._path, _PATIENCE_S, isolation_level=None)) as database:
                # Who reads is not kept waiting, and does not keep a sweep from writing.
                database.execute("pragma journal_mode = wal")
                database.execute("begin immediate")
                self._bring_up(database)
                self._path.chmod(0o600)
                yield database
                database.execute("commit")
        except (sqlite3.Error, OSError) as error:
            raise self._cannot("written", error, hint) from error

    def must_be_writable(self) -> None:
        """Write what is there already. Raises FleetopsError where that cannot be done."""
        with self.writing() as database:
            database.execute(f"pragma user_version = {len(_MIGRATIONS)}")

    @contextmanager
    def reading(self, *, whatever_it_is: bool = False) -> Iterator[sqlite3.Connection]:
        """Nothing is written for that, not even what an older release's file lacks. Where there is no file, it is empty.

        Raises FleetopsError where it cannot be read, unless `whatever_it_is`: then nothing is remembered.
        """
        hint = "see what is wrong with it, or choose another state folder (FLEETOPS_STATE)"
        try:
            with closing(self._as_it_is(whatever_it_is)) as database:
                yield database
        except sqlite3.Error as error:
            raise self._cannot("read", error, hint) from error

    def _as_it_is(self, whatever_it_is: bool) -> sqlite3.Connection:
        """The file itself, or in memory what this release would make of it."""
        file = None
        try:
            file = self._connected()
            return file if _version(file) >= len(_MIGRATIONS) else self._in_memory(file)
        except sqlite3.Error:
            if file:
                file.close()
            if self._path.exists() and not whatever_it_is:
                raise
        return self._in_memory()

    def _connected(self) -> sqlite3.Connection:
        """To read. In a folder that cannot be written SQLite can make none of what it needs beside the file: nobody writes."""
        address = f"{self._path.absolute().as_uri()}?mode=ro"
        file = sqlite3.connect(address, _PATIENCE_S, uri=True)
        try:
            _version(file)
        except sqlite3.OperationalError:
            file.close()
            if os.access(self._path.parent, os.W_OK):
                raise
            file = sqlite3.connect(f"{address}&immutable=1", _PATIENCE_S, uri=True)
        return file

    def _in_memory(self, file: sqlite3.Connection | None = None) -> sqlite3.Connection:
        """A copy of the file, which is closed, or an empty one; of this release's version."""
        memory = sqlite3.connect(":memory:")
        if file:
            with closing(file):
                file.backup(memory)
        self._bring_up(memory)
        return memory

    def _bring_up(self, database: sqlite3.Connection) -> None:
        """To this release's version. Raises FleetopsError for a newer one's, which only that release understands."""
        version = _version(database)
        if version > len(_MIGRATIONS):
            raise FleetopsError(
                f"{self._what} was written in {self._path} by a newer fleetops",
                hint="use that one, or another state folder (FLEETOPS_STATE)",
            )
        for statements in _MIGRATIONS[version:]:
            for statement in statements:
                database.execute(statement)
        if version < len(_MIGRATIONS):
            database.execute(f"pragma user_version = {len(_MIGRATIONS)}")

    def _cannot(self, be: str, error: Exception, hint: str) -> FleetopsError:
        return FleetopsError(f"{self._what} cannot be {be} in {self._path}: {error}", hint=hint)


def _version(database: sqlite3.Connection) -> int:
    version: int = database.execute("pragma user_version").fetchone()[0]
    return version
