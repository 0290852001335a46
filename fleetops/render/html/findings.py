"""Findings on the page: what, since when, by what evidence, and the command to type."""

from collections.abc import Iterator

from fleetops.model.duration import show_duration
from fleetops.model.page import HostPage
from fleetops.model.sweep import Sighting, Tracked
from fleetops.render.html.tags import Markup, joined, tag
from fleetops.render.html.words import kind, moment, plural, symbol, word
from fleetops.render.typed import typed


def findings(host: HostPage, now: float) -> Markup:
    """What is there, the worst first; what is silenced is shown as that."""
    if host.severity is None and not host.found:
        return tag(
            "p",
            "No sweep of it within this time: ",
            _command(f"fleetops sweep {host.name}"),
            class_="nothing",
        )
    if not host.found:
        return tag("p", "Nothing found.", class_="nothing")
    return joined(
        [tag("h3", "Findings"), tag("ul", *(_finding(one, now) for one in host.found), class_="findings")]
    )


def cleared(host: HostPage) -> Markup:
    """What was there and is gone, for whoever wants to know."""
    if not host.cleared:
        return Markup()
    return tag(
        "details",
        tag("summary", f"{plural(len(host.cleared), 'finding')} cleared"),
        tag("ul", *map(_gone, host.cleared), class_="gone"),
    )


def _finding(one: Tracked, now: float) -> Markup:
    found = one.finding
    severity = kind(found.severity)
    command = [tag("pre", tag("code", typed(found.next)), class_="command")] if found.next else []
    return tag(
        "li",
        tag(
            "p",
            symbol(severity),
            tag("b", word(found.severity), class_=severity),
            tag("strong", found.subject),
            tag("code", found.check, class_="check"),
            class_="what",
        ),
        tag("p", found.evidence, class_="evidence"),
        tag("p", *_when(one, now), class_="dim"),
        *command,
        class_=f"{severity} silenced" if one.silenced_until else severity,
    )


def _when(one: Tracked, now: float) -> Iterator[str]:
    """Since when and how often; and what a reader must know before he believes it."""
    yield from ("since ", moment(one.first_seen), f" ({show_duration(now - one.first_seen)})")
    yield f", seen in {plural(one.count, 'sweep')}"
    if one.is_flapping:
        yield f"; flapping: in {one.told.count(Sighting.SEEN)} of the latest {len(one.told)}"
    if not one.is_seen:
        gone = one.sightings.endswith(Sighting.GONE)
        yield "; not seen by the latest sweep" if gone else "; the latest sweep could not tell"
    if one.acknowledged:
        yield f"; acknowledged by {one.acknowledged}"
    if one.silenced_until:
        yield from ("; silenced until ", moment(one.silenced_until))


def _gone(one: Tracked) -> Markup:
    found, severity = one.finding, kind(one.finding.severity)
    return tag(
        "li",
        tag(
            "p",
            symbol(severity),
            tag("b", word(found.severity), class_=severity),
            tag("strong", found.subject),
            class_="what",
        ),
        tag("p", found.evidence, class_="evidence"),
        tag(
            "p",
            moment(one.first_seen),
            " to ",
            moment(one.last_seen, after=one.first_seen),
            f", seen in {plural(one.count, 'sweep')}",
            class_="dim",
        ),
    )


def _command(text: str) -> Markup:
    return tag("code", typed(text))
