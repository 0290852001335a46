"""ZFS's cache of a Proxmox host, which may have none; not having asked is not the same."""

from fleetops.checks.support.machine import Machine, gaps, has_none
from fleetops.model.finding import Finding
from fleetops.model.guest import ARC, Arc


def known_arc(machine: Machine) -> Arc | None:
    """None where no ZFS is loaded."""
    return machine.facts.value(ARC)


def arc_unknown(check: str, machine: Machine) -> list[Finding]:
    """An unknown unless the host told of its cache, or that it has no ZFS."""
    return [] if has_none(machine.facts, ARC) else gaps(check, machine, ARC)
