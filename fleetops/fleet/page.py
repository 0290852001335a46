"""What is remembered of a fleet, put together for its page. Nothing is contacted."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from fleetops.fleet.over_time import bands, cell_width, spells, thinned
from fleetops.model.duration import show_duration
from fleetops.model.finding import WORST_FIRST, Severity, worst_of
from fleetops.model.fleet import Hypervisor, Node
from fleetops.model.page import Curve, FleetPage, HostPage, Mark
from fleetops.model.record import LaunchRecord, RunSummary
from fleetops.model.sweep import Tracked
from fleetops.store.sweeps import SweepStore

DRAWN = ("mem-available-bytes", "gpu-memory-used-bytes")
# A thousand hosts are on one page too: then each is drawn in fewer cells.
_MANY_HOSTS = 100
_CELLS, _CELLS_OF_MANY = 336, 84


@dataclass(frozen=True, kw_only=True)
class Told:
    """What is known beside the sweeps' own numbers: findings, launches (the oldest first), and runs, the newest first."""

    tracked: Sequence[Tracked]
    launches: Sequence[LaunchRecord] = ()
    runs: Sequence[RunSummary] = ()


def fleet_page(
    store: SweepStore, told: Told, hosts: Sequence[Node | Hypervisor], *, since: float, at: float
) -> FleetPage:
    """Everything since then, of these hosts, in that order."""
    names = {host.name for host in hosts}
    cell_s = cell_width(at - since, _CELLS if len(hosts) <= _MANY_HOSTS else _CELLS_OF_MANY)
    begin = since // cell_s * cell_s
    cells = math.ceil((at - begin) / cell_s)
    runs = tuple(run for run in told.runs if run.node in names and run.started_at >= since)
    frame = FleetPage(
        at=at,
        since=since,
        begin=begin,
        cell_s=cell_s,
        cells=cells,
        swept=store.last_sweep(),
        hosts=(),
        runs=runs,
    )
    pages = (_host(store, told, host, frame) for host in hosts)
    return replace(frame, hosts=tuple(pages))


def _host(store: SweepStore, told: Told, host: Node | Hypervisor, frame: FleetPage) -> HostPage:
    health = store.health(host.name, since=frame.since)
    figures = {one.name: one for one in store.figures(host.name, since=frame.since)}
    mine = [one for one in told.tracked if one.finding.host == host.name]
    found = sorted((one for one in mine if one.cleared_at is None), key=_worst_first)
    cleared = [one for one in mine if one.cleared_at is not None and one.cleared_at >= frame.since]
    return HostPage(
        name=host.name,
        kind="node" if isinstance(host, Node) else "hypervisor",
        about=tuple(_about(host)),
        severity=_severity(found) if health else None,
        swept_at=health[-1][0] if health else None,
        sweeps=len(health),
        well=sum(severity is Severity.OK for _, severity in health),
        bands=bands(health, frame.begin, frame.cell_s, frame.cells),
        spells=spells(health),
        curves={
            name: Curve(
                figure=figures[name],
                points=thinned(store.series(host.name, name, since=frame.since), frame.begin, frame.cell_s),
            )
            for name in DRAWN
            if name in figures
        },
        figures=tuple(one for one in figures.values() if one.name not in DRAWN),
        found=tuple(found),
        cleared=tuple(sorted(cleared, key=lambda one: -(one.cleared_at or 0.0))),
        marks=marks(host.name, told.launches, frame.runs),
    )


def _worst_first(one: Tracked) -> tuple[bool, int, float]:
    return (bool(one.silenced_until), WORST_FIRST.index(one.finding.severity), one.first_seen)


def _severity(found: Iterable[Tracked]) -> Severity:
    """As a sweep counts the host: what is silenced does not count."""
    return worst_of(one.finding.severity for one in found if not one.silenced_until)


def _about(host: Node | Hypervisor) -> Iterator[str]:
    if isinstance(host, Hypervisor):
        yield "Proxmox host"
        return
    if host.gpus is not None:
        yield f"{host.gpus} GPU{'s' if host.gpus != 1 else ''}"
    if host.guest:
        yield f"{host.guest.kind} {host.guest.id} on {host.hypervisor}"
    if host.profile:
        yield f"profile {host.profile}"


def marks(node: str, launches: Iterable[LaunchRecord], runs: Iterable[RunSummary]) -> tuple[Mark, ...]:
    """What was done to the node, the oldest first. A run that only launched is told by its launch."""
    ready = [one for one in launches if one.node == node]
    by_launch = {one.run_id for one in ready}
    found = [
        Mark(at=one.at, kind="launch", what=f"launch {one.profile}", note=_came_to(one), run_id=one.run_id)
        for one in ready
    ]
    found += [
        Mark(
            at=run.started_at,
            kind="launch" if run.playbook == "launch" else "run",
            what=run.playbook,
            note=_ended(run),
            run_id=run.run_id,
        )
        for run in runs
        if run.node == node and not (run.playbook == "launch" and run.run_id in by_launch)
    ]
    return tuple(sorted(found, key=lambda one: one.at))


def _came_to(launch: LaunchRecord) -> str:
    """Its pools and its rate, as far as they were measured."""
    found, parts = launch.capacity, ["ready"]
    if found.ready_s is not None:
        parts = [f"ready in {show_duration(found.ready_s)}"]
    if found.device_tokens is not None:
        parts.append(f"{found.device_tokens:,} device tokens")
    if found.tokens_per_s is not None:
        parts.append(f"{found.tokens_per_s:,.0f} tok/s")
    return ", ".join(parts)


def _ended(run: RunSummary) -> str:
    took = f" after {show_duration(run.ended_at - run.started_at)}" if run.ended_at is not None else ""
    why = f": {run.why.splitlines()[0]}" if run.why else ""
    return f"{run.status}{took}{why}"
