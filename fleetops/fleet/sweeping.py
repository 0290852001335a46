"""A sweep with what earlier ones remember: judged against the past, followed over time, kept for the next."""

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from fleetops.fleet.package_checks import every_check
from fleetops.fleet.probe import Memory
from fleetops.fleet.read import Sessions
from fleetops.fleet.sweep import DEADLINE_S, Busy, sweep_hosts
from fleetops.fleet.tracking import track
from fleetops.model.errors import FleetopsError
from fleetops.model.exit import Exit, worst
from fleetops.model.finding import WORST_FIRST, Severity
from fleetops.model.fleet import Hypervisor, Inventory, Node
from fleetops.model.past import Past
from fleetops.model.sweep import HostSweep, Sweep, Tracked
from fleetops.store.proofs import Proofs

T = TypeVar("T")


class Sweeps(Protocol):
    """What sweeps remember; `store.sweeps.SweepStore` is one."""

    def pasts(self, hosts: Sequence[str], now: float) -> Mapping[str, Past]:
        """Of each of these hosts."""

    def tracked(self, now: float) -> tuple[Tracked, ...]:
        """Every finding that is kept."""

    def record(self, sweep: Sweep, tracked: Sequence[Tracked]) -> int:
        """Keep it; its number."""


@dataclass(frozen=True, kw_only=True)
class Sweeper:
    """Sweeps the same hosts again and again, or once.

    Attributes:
        memory: what sweeps remember; where it cannot be read or kept, `tell` says so and the sweep is shown all the same.
        records: launches, baselines and identities; proofs: what flags were proven to mean.
        deadline_s: how long one sweep may take, whatever its hosts do.
    """

    sessions: Sessions
    inventory: Inventory
    hosts: Sequence[Node | Hypervisor]
    memory: Sweeps
    records: Memory
    proofs: Proofs
    deadline_s: float = DEADLINE_S
    clock: Callable[[], float] = time.time
    tell: Callable[[str], None] = lambda _: None
    on_answer: Callable[[set[str]], None] = lambda _: None
    busy: Busy = field(default_factory=Busy)

    def once(self) -> Sweep:
        """Look at all of them, and remember."""
        at, began = self.clock(), time.monotonic()
        names = [host.name for host in self.hosts]
        nothing: Mapping[str, Past] = {}
        pasts = self._remembered(lambda: self.memory.pasts(names, at), nothing)
        found = sweep_hosts(
            self.sessions,
            self.inventory,
            self.hosts,
            pasts=pasts,
            records=self.records,
            proofs=self.proofs,
            deadline_s=self.deadline_s,
            clock=self.clock,
            on_answer=self.on_answer,
            busy=self.busy,
        )
        none: tuple[Tracked, ...] = ()
        known = self._remembered(lambda: self.memory.tracked(at), none)
        sweep = followed(found, known, at=at, seconds=time.monotonic() - began)
        kept = self._remembered(lambda: self.memory.record(sweep, (*sweep.tracked, *sweep.cleared)), 0)
        return replace(sweep, number=kept)

    def every(
        self, every_s: float, wait: Callable[[float], None] = time.sleep
    ) -> Generator[Sweep, None, None]:
        """One after the other for ever, each begun on the beat; a beat that falls into a sweep is left out."""
        beat = time.monotonic()
        while True:
            yield self.once()
            behind = max(0.0, time.monotonic() - beat)
            beat += every_s * (behind // every_s + 1)
            wait(max(0.0, beat - time.monotonic()))

    def _remembered(self, ask: Callable[[], T], otherwise: T) -> T:
        try:
            return ask()
        except FleetopsError as error:
            self.tell(error.message)
            return otherwise


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
    return frozenset(check.name for check in every_check() if check.latched)


def exit_code(sweep: Sweep) -> Exit:
    """3 where something is unknown, 1 where there are findings, else 0; what somebody has silenced counts for nothing."""
    return worst(
        Exit.UNKNOWN if one.finding.severity is Severity.UNKNOWN else Exit.FINDINGS for one in sweep.reported
    )


def _order(one: Tracked) -> tuple[int, str, str]:
    return (WORST_FIRST.index(one.finding.severity), one.finding.host, one.finding.check)
