"""A sweep with what earlier ones remember: judged against the past, followed over time, kept for the next."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from fleetops.checks import all_checks, hypervisor_checks
from fleetops.fleet.probe import Memory
from fleetops.fleet.read import Sessions
from fleetops.fleet.sweep import DEADLINE_S, sweep_hosts
from fleetops.fleet.tracking import track
from fleetops.model.exit import Exit, worst
from fleetops.model.finding import Severity
from fleetops.model.fleet import Hypervisor, Inventory, Node
from fleetops.model.past import Past
from fleetops.model.sweep import HostSweep, Sweep, Tracked
from fleetops.store.proofs import Proofs

_GRAVITY = (Severity.CRITICAL, Severity.UNKNOWN, Severity.WARNING, Severity.OK)


class Sweeps(Protocol):
    """What sweeps remember; `store.sweeps.SweepStore` is one."""

    def pasts(self, hosts: Sequence[str], now: float) -> Mapping[str, Past]:
        """Of each of these hosts."""

    def tracked(self, now: float) -> tuple[Tracked, ...]:
        """Every finding that is kept."""

    def record(self, sweep: Sweep, tracked: Sequence[Tracked]) -> int:
        """Keep it; its number."""


def sweep_once(
    sessions: Sessions,
    inventory: Inventory,
    hosts: Sequence[Node | Hypervisor],
    *,
    memory: Sweeps,
    records: Memory,
    proofs: Proofs,
    deadline_s: float = DEADLINE_S,
    clock: Callable[[], float] = time.time,
    on_answer: Callable[[set[str]], None] = lambda _: None,
) -> Sweep:
    """Look at all of them, and remember. Raises FleetopsError where what sweeps remember cannot be read or kept."""
    at, began = clock(), time.monotonic()
    pasts = memory.pasts([host.name for host in hosts], at)
    found = sweep_hosts(
        sessions,
        inventory,
        hosts,
        pasts=pasts,
        records=records,
        proofs=proofs,
        deadline_s=deadline_s,
        clock=clock,
        on_answer=on_answer,
    )
    sweep = followed(found, memory.tracked(at), at=at, seconds=time.monotonic() - began)
    changed = (*sweep.tracked, *sweep.cleared)
    number = memory.record(sweep, changed)
    return Sweep(
        at=at,
        seconds=sweep.seconds,
        hosts=found,
        tracked=sweep.tracked,
        cleared=sweep.cleared,
        number=number,
    )


def followed(hosts: tuple[HostSweep, ...], known: Sequence[Tracked], *, at: float, seconds: float) -> Sweep:
    """The findings of these hosts as they stand after this sweep, worst first."""
    names = {host.name for host in hosts}
    open_before = {one.key for one in known if one.cleared_at is None}
    after = [one for one in track(known, hosts, latched=latched()) if one.finding.host in names]
    there = [one for one in after if one.cleared_at is None]
    cleared = [one for one in after if one.cleared_at is not None and one.key in open_before]
    return Sweep(
        at=at,
        seconds=seconds,
        hosts=hosts,
        tracked=tuple(sorted(there, key=_order)),
        cleared=tuple(sorted(cleared, key=_order)),
    )


def latched() -> frozenset[str]:
    """The checks of which one sighting is enough."""
    of_nodes = {check.name for check in all_checks() if check.latched}
    return frozenset(of_nodes | {check.name for check in hypervisor_checks() if check.latched})


def exit_code(sweep: Sweep) -> Exit:
    """3 where something is unknown, 1 where there are findings, else 0; what somebody has silenced counts for nothing."""
    return worst(
        Exit.UNKNOWN if one.finding.severity is Severity.UNKNOWN else Exit.FINDINGS
        for one in sweep.tracked
        if not one.silenced_until
    )


def _order(one: Tracked) -> tuple[int, str, str]:
    return (_GRAVITY.index(one.finding.severity), one.finding.host, one.finding.check)
