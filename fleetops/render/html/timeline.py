"""A host's health over time: a band that needs no script, taller where it is worse, and its bad stretches in words."""

from collections.abc import Iterator, Sequence

from fleetops.model.finding import Severity
from fleetops.model.page import Band, FleetPage, HostPage, Spell
from fleetops.render.html.tags import Markup, joined, tag
from fleetops.render.html.words import kind, lasted, moment, plural, symbol, word

# Of 20: how tall each is drawn. What is unknown is as tall as critical, and hollow.
_HEIGHTS = {Severity.OK: 4, Severity.WARNING: 12, Severity.CRITICAL: 20, Severity.UNKNOWN: 20}
_TALL = 20
_SPELLS = 6


def timeline(host: HostPage, page: FleetPage) -> Markup:
    """Headed by how often it was well."""
    if not host.sweeps:
        return Markup()
    share = _share(host)
    band = tag(
        "svg",
        *_paths(host.bands),
        viewBox=f"0 0 {page.cells} {_TALL}",
        preserveAspectRatio="none",
        class_="timeline",
        role="img",
        aria_label=f"Health of {host.name} over time: {share}{'' if host.spells else ', and nothing else'}",
    )
    ends = tag("p", moment(page.since), moment(page.at), class_="ends")
    return joined(
        [tag("h3", "Health"), tag("p", share, class_="share"), band, ends, joined(_spells(host.spells))]
    )


def _share(host: HostPage) -> str:
    if host.well == host.sweeps:
        return f"well in {'its only sweep' if host.sweeps == 1 else f'all {host.sweeps:,} sweeps'}"
    return f"well in {host.well:,} of {plural(host.sweeps, 'sweep')}"


def _paths(bands: Sequence[Band]) -> Iterator[Markup]:
    """One outline for each severity: of a thousand hosts, an element for each band would be most of the page."""
    for severity, height in _HEIGHTS.items():
        corners = [
            f"M{band.first} {_TALL - height}h{band.cells}v{height}h-{band.cells}z"
            for band in bands
            if band.severity is severity
        ]
        if corners:
            yield tag("path", d="".join(corners), class_=kind(severity))


def _spells(spells: tuple[Spell, ...]) -> Iterator[Markup]:
    if spells:
        yield tag("ul", *map(_spell, spells[:_SPELLS]), class_="spells")
    if len(spells) > _SPELLS:
        yield tag("p", f"and {len(spells) - _SPELLS:,} earlier", class_="dim")


def _spell(spell: Spell) -> Markup:
    took = lasted(spell.until - spell.since)
    span = [
        moment(spell.since),
        " until now" if spell.lasts else joined([" to ", moment(spell.until, after=spell.since)]),
    ]
    return tag(
        "li",
        symbol(kind(spell.severity)),
        tag("b", word(spell.severity), class_=kind(spell.severity)),
        tag("span", *span),
        tag("span", ", ".join(filter(None, (took, plural(spell.sweeps, "sweep")))), class_="dim"),
    )
