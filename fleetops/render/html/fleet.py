"""The fleet's part of the page: how many are well, every host at a glance, and what was done."""

from collections.abc import Iterator, Sequence

from fleetops.model.duration import show_duration
from fleetops.model.finding import WORST_FIRST, Severity
from fleetops.model.page import FleetPage, HostPage
from fleetops.model.record import RunSummary
from fleetops.render.html.tags import Markup, joined, tag
from fleetops.render.html.words import kind, moment, plural, symbol, word, zone

_ORDER = (*WORST_FIRST, None)
_KINDS = (("node", "Nodes"), ("hypervisor", "Proxmox hosts"))
_RUNS = 100
# What was seen longer ago is said as that, also where it was well then.
_OLD_S = 3600.0


def headline(page: FleetPage) -> Markup:
    """How many, how they are, and as of when."""
    counts = [_count(page, severity, count) for severity, count in _counts(page)]
    return tag(
        "header",
        tag("h1", plural(len(page.hosts), "host")),
        tag("ul", *counts, class_="counts"),
        tag("p", *_as_of(page), class_="dim"),
    )


def title(page: FleetPage) -> str:
    """For the tab: the worst first."""
    return f"{', '.join(f'{count:,} {word(severity)}' for severity, count in _counts(page))} - fleetops"


def in_order(hosts: Sequence[HostPage]) -> list[HostPage]:
    """The worst first; among equals as the inventory has them."""
    return sorted(hosts, key=lambda host: _ORDER.index(host.severity))


def grid(page: FleetPage) -> Markup:
    """As the inventory has them: from one page to the next each keeps its place."""
    groups = [(name, [host for host in page.hosts if host.kind == one]) for one, name in _KINDS]
    parts = [
        joined([tag("h3", name), tag("ul", *(_tile(host, page.at) for host in hosts), class_="grid")])
        for name, hosts in groups
        if hosts
    ]
    return tag(
        "nav",
        tag("h2", "Hosts", id="hosts-head"),
        *parts,
        id="hosts",
        aria_labelledby="hosts-head",
        tabindex="-1",
    )


def runs(page: FleetPage) -> Markup:
    """The latest first."""
    if not page.runs:
        return Markup()
    rest = len(page.runs) - _RUNS
    more = [tag("p", f"and {rest:,} earlier: fleetops runs", class_="dim")] if rest > 0 else []
    return tag(
        "section",
        tag("h2", "What was done", id="runs-head"),
        tag("ol", *map(_run, page.runs[:_RUNS]), class_="runs"),
        *more,
        id="runs",
        aria_labelledby="runs-head",
    )


def _counts(page: FleetPage) -> Iterator[tuple[Severity | None, int]]:
    for severity in _ORDER:
        if count := sum(host.severity is severity for host in page.hosts):
            yield severity, count


def _count(page: FleetPage, severity: Severity | None, count: int) -> Markup:
    """A link to the first of them, which the others of its kind follow; of those that are well nobody looks for one."""
    said = joined([symbol(kind(severity)), tag("b", f"{count:,}"), f" {word(severity)}"])
    first = next(host for host in page.hosts if host.severity is severity)
    told = said if severity is Severity.OK else tag("a", said, href=f"#host-{first.name}")
    return tag("li", told, class_=kind(severity))


def _as_of(page: FleetPage) -> Iterator[str]:
    if page.swept is None:
        yield "No sweep is remembered. "
    else:
        began, took_s = page.swept
        ago = page.at - began
        yield from (
            "Swept ",
            moment(began),
            f" in {took_s:.1f} s, {show_duration(ago)} before this page was written. ",
        )
    yield f"It looks back {show_duration(page.at - page.since)}. Times are {zone(page.at)}."


def _tile(host: HostPage, now: float) -> Markup:
    severity = kind(host.severity)
    told = [one.finding.subject for one in host.found if not one.silenced_until]
    more = f"\u00a0+{len(told) - 1}" if len(told) > 1 else ""
    subject = [tag("span", f"{told[0]}{more}", class_="subject")] if told else []
    old_s = now - host.swept_at if host.swept_at is not None else 0.0
    if old_s > _OLD_S:
        subject.append(tag("span", f"swept {show_duration(old_s)} ago", class_="subject"))
    return tag(
        "li",
        tag(
            "a",
            tag("span", host.name, class_="name"),
            tag("span", symbol(severity), word(host.severity), class_="word"),
            *subject,
            href=f"#host-{host.name}",
            class_=f"tile {severity}",
        ),
    )


def _run(run: RunSummary) -> Markup:
    took = [show_duration(run.ended_at - run.started_at)] if run.ended_at is not None else []
    why = run.why.splitlines()[0] if run.why else ""
    return tag(
        "li",
        moment(run.started_at),
        tag("strong", f"{run.playbook} ", tag("a", run.node, href=f"#host-{run.node}")),
        tag("span", f"{run.status}{''.join(f', {one}' for one in took)}"),
        tag("span", why, class_="dim why") if why else "",
        tag("code", run.run_id, class_="check"),
    )
