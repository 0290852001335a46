"""A Proxmox host as one sweep sees it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fleetops.model.fact import Facts
from fleetops.model.fleet import Hypervisor, Node
from fleetops.model.past import Past
from fleetops.model.thresholds import Thresholds


@dataclass(frozen=True, kw_only=True)
class HypervisorSight:
    """What checks of hypervisors look at.

    Attributes:
        facts: of the host itself.
        guests: node name -> facts about that node's guest, read on this host (`GUEST`, `TASKS`, `PENDING`).
        nodes: the inventory's nodes that are its guests, by name.
    """

    hypervisor: Hypervisor
    facts: Facts
    guests: Mapping[str, Facts] = field(default_factory=dict)
    nodes: Mapping[str, Node] = field(default_factory=dict)
    past: Past = field(default_factory=Past)
    thresholds: Thresholds = field(default_factory=Thresholds)
