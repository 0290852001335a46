"""A check that another package brings."""

from dataclasses import dataclass
from typing import Any

from fleetops.model.fact import Fact
from fleetops.model.finding import Check, FleetCheck, HypervisorCheck


@dataclass(frozen=True, kw_only=True)
class PackageCheck:
    """What an entry point of the group `fleetops.checks` gives; sweeps alone ask it.

    Attributes:
        check: of a node, of a Proxmox host, or of all nodes beside each other; its name is the entry point's.
        reads: what it needs beyond what every sweep reads, on each node (of a HypervisorCheck: on each Proxmox host), in
            the same round trip. A key that a sweep has already is read once, as the sweep reads it.
    """

    check: Check | HypervisorCheck | FleetCheck
    reads: tuple[Fact[Any], ...] = ()
