"""A sweep on one screen: how many are well, what is wrong with the others, since when, and what to type next."""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.text import Text

from fleetops.model.duration import show_duration
from fleetops.model.finding import Severity
from fleetops.model.jsonable import jsonable
from fleetops.model.sweep import Sighting, Sweep, Tracked
from fleetops.render.plain import safe
from fleetops.render.rows import Row, lay_out, opposite
from fleetops.render.when import DAY_S, show_moment

SCHEMA = "fleetops.sweep/1"
SEVERITY_STYLES = {
    Severity.CRITICAL: "bold red",
    Severity.WARNING: "yellow",
    Severity.UNKNOWN: "magenta",
    Severity.OK: "green",
}
_COUNTED = (Severity.OK, Severity.WARNING, Severity.CRITICAL, Severity.UNKNOWN)
_WORDS = {Severity.OK: "well"}
_ORDINALS = {1: "st", 2: "nd", 3: "rd"}


def sweep_screen(sweep: Sweep, width: int) -> Text:
    """The counts; then each host that is not well, its findings worst first, and the commands to type."""
    return Text("\n\n").join([_headline(sweep), *_blocks(sweep, width)])


def sweep_news(sweep: Sweep, width: int) -> Text:
    """The same under a line that tells when it was: for one sweep of many."""
    return Text("\n\n").join([sweep_line(sweep), *_blocks(sweep, width), Text()])


def _blocks(sweep: Sweep, width: int) -> list[Text]:
    told = sweep.reported
    silenced = len(sweep.tracked) - len(told)
    blocks = [_host(name, list(_of(name, told)), sweep, width) for name in _hosts(told)]
    blocks += [_cleared(sweep, width)] if sweep.cleared else []
    return blocks + ([Text(f"{silenced} silenced: fleetops silence", style="dim")] if silenced else [])


def sweep_line(sweep: Sweep) -> Text:
    """One line for a sweep that has nothing new to tell."""
    at = time.strftime("%H:%M:%S", time.localtime(sweep.at))
    return Text(f"{at}  ").append_text(_headline(sweep))


def has_news(sweep: Sweep) -> bool:
    """Whether something is there, or gone, or silent, that the sweep before did not tell."""
    return bool(sweep.cleared) or any(one.is_new or one.was_away for one in sweep.tracked)


def sweep_json(sweep: Sweep) -> dict[str, Any]:
    """The same for a program."""
    return {
        "schema": SCHEMA,
        "sweep": sweep.number,
        "at": sweep.at,
        "seconds": round(sweep.seconds, 3),
        "hosts": [
            {
                "host": host.name,
                "kind": host.kind,
                "severity": host.severity.word,
                "seconds": round(host.seconds, 3),
                "gaps": dict(host.gaps),
                "numbers": dict(host.remembered.numbers),
                "words": dict(host.remembered.words),
            }
            for host in sweep.hosts
        ],
        "findings": [_finding_json(one) for one in sweep.tracked],
        "cleared": [_finding_json(one) for one in sweep.cleared],
    }


def _finding_json(one: Tracked) -> dict[str, Any]:
    return {
        **jsonable(one.finding),
        "new": one.is_new,
        "seen": one.is_seen,
        "firm": one.firm,
        "flapping": one.is_flapping,
        "first_seen": one.first_seen,
        "last_seen": one.last_seen,
        "sweeps": one.count,
        "cleared_at": one.cleared_at,
        "acknowledged": one.acknowledged,
        "silenced_until": one.silenced_until or None,
    }


def _headline(sweep: Sweep) -> Text:
    worst = list(sweep.severities.values())
    counts = {severity: worst.count(severity) for severity in _COUNTED}
    line = Text(f"{len(sweep.hosts)} host{'s' if len(sweep.hosts) != 1 else ''} in {sweep.seconds:.1f} s: ")
    parts = [
        Text(f"{count} {_WORDS.get(severity, severity.word)}", style=SEVERITY_STYLES[severity])
        for severity, count in counts.items()
        if count
    ]
    return line.append_text(Text(", ").join(parts))


def _hosts(told: Iterable[Tracked]) -> list[str]:
    return list(dict.fromkeys(one.finding.host for one in told))


def _of(name: str, told: Iterable[Tracked]) -> Iterator[Tracked]:
    return (one for one in told if one.finding.host == name)


def _host(name: str, found: Sequence[Tracked], sweep: Sweep, width: int) -> Text:
    """Since when is said once, where it is the same for all of them; what several checks say in the same words, too."""
    found = list({_words(one): one for one in reversed(found)}.values())[::-1]
    whens = [_when(one, sweep.at) for one in found]
    alike = len(set(whens)) == 1
    severities = [one.finding.severity for one in found]
    rows = [
        Row(
            label=one.finding.severity.word if at == 0 or severities[at - 1] is not severities[at] else "",
            says=one.finding.subject,
            note=one.finding.evidence if alike else f"{one.finding.evidence} ({whens[at]})",
            style=SEVERITY_STYLES[one.finding.severity],
        )
        for at, one in enumerate(found)
    ]
    head = Text(name, style="bold")
    if alike:
        head = opposite(head, whens[0], width)
    following = dict.fromkeys(one.finding.next for one in found if one.finding.next)
    commands = [Text(f"  {safe(command)}", style="bold") for command in following]
    return Text("\n").join([head, *lay_out(rows, width), *commands])


def _words(one: Tracked) -> tuple[str, ...]:
    return (one.finding.severity.word, one.finding.subject, one.finding.evidence)


def _when(one: Tracked, now: float) -> str:
    parts = []
    if one.is_flapping:
        parts.append(f"flapping: seen in {one.told.count(Sighting.SEEN)} of {len(one.told)} sweeps")
    elif one.is_new:
        parts.append("new")
    else:
        parts.append(f"{_ordinal(one.count)} sweep, since {_clock(one.first_seen, now)}")
    if not one.is_seen:
        last = one.sightings[-1:]
        parts.append("not seen now" if last == Sighting.GONE else "cannot be told now")
    if one.acknowledged:
        parts.append(f"acknowledged by {one.acknowledged}")
    return "; ".join(parts)


def _ordinal(number: int) -> str:
    teen = 10 < number % 100 < 14
    return f"{number}{'th' if teen else _ORDINALS.get(number % 10, 'th')}"


def _clock(at: float, now: float) -> str:
    return time.strftime("%H:%M", time.localtime(at)) if now - at < DAY_S else show_moment(at)


def _was_there(one: Tracked) -> str:
    sweeps = f"seen in {one.count} sweep{'s' if one.count != 1 else ''}"
    lasted_s = one.last_seen - one.first_seen
    return f"{sweeps}, for {show_duration(lasted_s)}" if lasted_s > 0 else sweeps


def _cleared(sweep: Sweep, width: int) -> Text:
    """What several checks said in the same words is gone once."""
    gone = {(one.finding.host, *_words(one)): one for one in sweep.cleared}.values()
    rows = [
        Row(
            label="cleared" if at == 0 else "",
            says=f"{one.finding.host}   {one.finding.subject}",
            note=_was_there(one),
            style="green",
        )
        for at, one in enumerate(gone)
    ]
    return Text("\n").join(lay_out(rows, width))
