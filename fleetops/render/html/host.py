"""One host's part of the page."""

from fleetops.model.page import Figure, FleetPage, HostPage, Mark
from fleetops.render.html.charts import charts
from fleetops.render.html.findings import cleared, findings
from fleetops.render.html.tags import Markup, joined, tag
from fleetops.render.html.timeline import timeline
from fleetops.render.html.words import as_of, kind, moment, plural, quantity, symbol, word


def host_part(host: HostPage, page: FleetPage) -> Markup:
    """What is wrong first, then how it went, then what there is besides."""
    severity = kind(host.severity)
    head = tag(
        "h2",
        tag("span", host.name, class_="name"),
        tag("span", symbol(severity), word(host.severity), class_=f"word {severity}"),
    )
    return tag(
        "section",
        head,
        _about(host),
        findings(host, page.at),
        timeline(host, page),
        charts(host),
        _marks(host.marks),
        _figures(host),
        cleared(host),
        tag("p", tag("a", "All hosts", href="#hosts"), class_="back"),
        id=f"host-{host.name}",
        class_=f"host {severity}",
        aria_label=f"{host.name}, {word(host.severity)}",
    )


def _about(host: HostPage) -> Markup:
    parts: list[str] = list(host.about)
    if host.swept_at is not None:
        parts.append(joined(["last swept ", moment(host.swept_at)]))
    return tag("p", *(tag("span", part) for part in parts), class_="about dim")


def _marks(marks: tuple[Mark, ...]) -> Markup:
    """Numbered as in the charts."""
    if not marks:
        return Markup()
    return joined([tag("h3", "Launches and recoveries"), tag("ol", *map(_mark, marks), class_="marks")])


def _mark(mark: Mark) -> Markup:
    return tag(
        "li",
        symbol(mark.kind),
        tag("strong", mark.what),
        tag("span", moment(mark.at)),
        tag("span", mark.note, class_="dim"),
    )


def _figures(host: HostPage) -> Markup:
    if not host.figures:
        return Markup()
    rows = (_figure(one, host.swept_at) for one in host.figures)
    head = tag("tr", *(tag("th", name, scope="col") for name in ("number", "latest", "least", "most")))
    table = tag("table", tag("thead", head), tag("tbody", *rows))
    return tag(
        "details", tag("summary", plural(len(host.figures), "further number")), table, class_="figures"
    )


def _figure(one: Figure, swept_at: float | None) -> Markup:
    values = (one.latest, one.least, one.most)
    told = as_of(one.at, swept_at)
    stale = [tag("span", f" {told}", class_="dim")] if told != "now" else []
    return tag(
        "tr",
        tag("th", one.name, *stale),
        *(tag("td", quantity(one.name, value)) for value in values),
    )
