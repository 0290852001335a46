"""What sweeps remember: samples, words, findings and the health of hosts, in the state folder's SQLite file."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median

from fleetops.model.finding import Finding, Severity
from fleetops.model.page import Figure
from fleetops.model.past import Past, Sample
from fleetops.model.sweep import HostSweep, Silenced, Sweep, Tracked
from fleetops.store.state_file import StateFile

_DAY_S = 86_400.0
# How long each is kept. Samples are the bulk: a node has about fifty numbers a sweep.
SAMPLES_S = 14 * _DAY_S
HEALTH_S = 30 * _DAY_S
CLEARED_S = 90 * _DAY_S
# What checks look back at; more is for `history` and the page.
_PAST_S = 6 * 3600.0
_SWEEPS_FOR_PACE = 6
_FINDINGS = """select host, "check", subject, severity, evidence, next, first_seen, last_seen, sightings, count, firm,
    cleared_at from findings order by host, "check", subject"""
_KEEP_FINDING = """insert or replace into findings (host, "check", subject, severity, evidence, next, first_seen,
    last_seen, sightings, count, firm, cleared_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""


class SweepStore:
    """One transaction a sweep: killed at any moment, a sweep is in the file as a whole or not at all."""

    def __init__(self, state: Path) -> None:
        self._file = StateFile(state, "what sweeps remember")

    def must_be_writable(self) -> None:
        """Raises FleetopsError where it is not."""
        self._file.must_be_writable()

    def pasts(self, hosts: Iterable[str], now: float) -> Mapping[str, Past]:
        """What is remembered of each of these hosts."""
        with self._file.reading() as database:
            every_s = _pace(database)
            return {host: _past(database, host, now, every_s) for host in hosts}

    def tracked(self, now: float) -> tuple[Tracked, ...]:
        """Every finding that is kept, cleared ones too, with who has acknowledged or silenced it."""
        with self._file.reading() as database:
            return _tracked(database, now)

    def record(self, sweep: Sweep, tracked: Sequence[Tracked]) -> int:
        """Keep it all; what is too old goes. Returns the sweep's number."""
        with self._file.writing() as database:
            cursor = database.execute(
                "insert into sweeps (at, seconds, hosts) values (?, ?, ?)",
                (sweep.at, sweep.seconds, len(sweep.hosts)),
            )
            number = cursor.lastrowid or 0
            for host in sweep.hosts:
                _keep_host(database, host)
            database.executemany(_KEEP_FINDING, map(_row, tracked))
            _forget(database, sweep.at)
        return number

    def acknowledge(self, host: str, check: str, *, at: float, who: str, why: str) -> None:
        """Somebody has seen it and says so; holds until it is cleared."""
        with self._file.writing() as database:
            database.execute(
                "insert or replace into acknowledged values (?, ?, ?, ?, ?)", (host, check, at, who, why)
            )

    def silence(self, host: str, check: str, *, until: float, at: float, who: str, why: str) -> None:
        """It is not reported until then; a time that is over ends a silence."""
        with self._file.writing() as database:
            database.execute(
                "insert or replace into silences values (?, ?, ?, ?, ?, ?)",
                (host, check, until, at, who, why),
            )

    def silences(self, now: float) -> tuple[Silenced, ...]:
        """Those that are in force, the one that ends first first."""
        query = """select host, "check", until, at, who, why from silences where until > ? order by until"""
        with self._file.reading() as database:
            rows = database.execute(query, (now,)).fetchall()
        return tuple(
            Silenced(host=host, check=check, until=until, at=at, who=who, why=why)
            for host, check, until, at, who, why in rows
        )

    def samples(self, host: str, *, since: float) -> Mapping[str, tuple[Sample, ...]]:
        """Every number of the host since then, by name."""
        with self._file.reading() as database:
            return _series(database, host, since)

    def series(self, host: str, name: str, *, since: float) -> tuple[Sample, ...]:
        """One number of the host since then."""
        query = "select at, value from samples where host = ? and name = ? and at >= ? order by at"
        with self._file.reading() as database:
            rows = database.execute(query, (host, name, since)).fetchall()
        return tuple(Sample(at=at, value=value) for at, value in rows)

    def figures(self, host: str, *, since: float) -> tuple[Figure, ...]:
        """Every number of the host in short, by name: of a thousand hosts, all samples would be a hundred million."""
        query = """select name, min(value), max(value), count(*), max(at), (
            select value from samples as last where last.host = samples.host and last.name = samples.name
            order by at desc limit 1
        ) from samples where host = ? and at >= ? group by name order by name"""
        with self._file.reading() as database:
            rows = database.execute(query, (host, since)).fetchall()
        return tuple(
            Figure(name=name, latest=latest, at=at, least=least, most=most, samples=count)
            for name, least, most, count, at, latest in rows
        )

    def health(self, host: str, *, since: float) -> tuple[tuple[float, Severity], ...]:
        """When it was swept, and the worst that was found."""
        query = "select at, severity from health where host = ? and at >= ? order by at"
        with self._file.reading() as database:
            rows = database.execute(query, (host, since)).fetchall()
        return tuple((at, Severity[word.upper()]) for at, word in rows)

    def last_sweep(self) -> tuple[float, float] | None:
        """When the latest one began, and how long it took; None before the first."""
        with self._file.reading() as database:
            row = database.execute("select at, seconds from sweeps order by number desc limit 1").fetchone()
        return (row[0], row[1]) if row else None


def _pace(database: sqlite3.Connection) -> float | None:
    rows = database.execute(
        "select at from sweeps order by number desc limit ?", (_SWEEPS_FOR_PACE,)
    ).fetchall()
    times = [at for (at,) in rows]
    gaps = [later - earlier for later, earlier in pairwise(times)]
    return median(gaps) if gaps else None


def _past(database: sqlite3.Connection, host: str, now: float, every_s: float | None) -> Past:
    row = database.execute("select max(at) from health where host = ?", (host,)).fetchone()
    words = database.execute("select name, text from words where host = ?", (host,)).fetchall()
    return Past(
        swept_at=row[0] if row else None,
        words=dict(words),
        series=_series(database, host, now - _PAST_S),
        every_s=every_s,
    )


def _series(database: sqlite3.Connection, host: str, since: float) -> dict[str, tuple[Sample, ...]]:
    query = "select name, at, value from samples where host = ? and at >= ? order by name, at"
    found: dict[str, list[Sample]] = {}
    with closing(database.execute(query, (host, since))) as rows:
        for name, at, value in rows:
            found.setdefault(name, []).append(Sample(at=at, value=value))
    return {name: tuple(samples) for name, samples in found.items()}


def _tracked(database: sqlite3.Connection, now: float) -> tuple[Tracked, ...]:
    by = {
        (host, check): f"{who}: {why}"
        for host, check, _, who, why in database.execute("select * from acknowledged")
    }
    until = {
        (host, check): end
        for host, check, end, *_ in database.execute("select * from silences where until > ?", (now,))
    }
    found = []
    for row in database.execute(_FINDINGS):
        one = _of_row(row)
        key = (one.finding.host, one.finding.check)
        found.append(replace(one, acknowledged=by.get(key, ""), silenced_until=until.get(key, 0.0)))
    return tuple(found)


def _keep_host(database: sqlite3.Connection, host: HostSweep) -> None:
    database.execute(
        "insert or replace into health values (?, ?, ?)", (host.name, host.at, host.severity.word)
    )
    database.executemany(
        "insert or replace into samples values (?, ?, ?, ?)",
        [(host.name, name, host.at, value) for name, value in host.remembered.numbers.items()],
    )
    database.executemany(
        "insert or replace into words values (?, ?, ?, ?)",
        [(host.name, name, host.at, _storable(text)) for name, text in host.remembered.words.items()],
    )


def _forget(database: sqlite3.Connection, now: float) -> None:
    database.execute("delete from samples where at < ?", (now - SAMPLES_S,))
    database.execute("delete from health where at < ?", (now - HEALTH_S,))
    database.execute("delete from sweeps where at < ?", (now - HEALTH_S,))
    database.execute("delete from findings where cleared_at < ?", (now - CLEARED_S,))
    database.execute("delete from silences where until < ?", (now - CLEARED_S,))
    # An acknowledgement is of one occurrence: what comes again is news again.
    database.execute(
        """delete from acknowledged where not exists (
            select 1 from findings where findings.host = acknowledged.host
            and findings."check" = acknowledged."check" and findings.cleared_at is null
        )"""
    )


def _storable(text: str) -> str:
    """A byte that is no character, as it comes from a host, is spelled out: SQLite keeps characters only."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _row(one: Tracked) -> tuple[object, ...]:
    found = one.finding
    return (
        found.host,
        found.check,
        _storable(found.subject),
        found.severity.word,
        _storable(found.evidence),
        _storable(found.next),
        one.first_seen,
        one.last_seen,
        one.sightings,
        one.count,
        int(one.firm),
        one.cleared_at,
    )


def _of_row(row: Sequence[object]) -> Tracked:
    host, check, subject, severity, evidence, following, first, last, sightings, count, firm, cleared = row
    finding = Finding(
        host=str(host),
        check=str(check),
        subject=str(subject),
        severity=Severity[str(severity).upper()],
        evidence=str(evidence),
        next=str(following),
    )
    return Tracked(
        finding=finding,
        first_seen=float(str(first)),
        last_seen=float(str(last)),
        sightings=str(sightings),
        count=int(str(count)),
        firm=bool(firm),
        cleared_at=None if cleared is None else float(str(cleared)),
    )
