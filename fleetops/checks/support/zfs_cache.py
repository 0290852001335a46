"""ZFS's cache of a Proxmox host, which may have none; not having asked is not the same."""

from fleetops.checks.support.machine import Machine, gaps
from fleetops.model.fact import Gap, Missing
from fleetops.model.finding import Finding
from fleetops.model.guest import ARC, Arc


def known_arc(machine: Machine) -> Arc | None:
    """None where no ZFS is loaded."""
    return machine.facts.value(ARC)


def arc_unknown(check: str, machine: Machine) -> list[Finding]:
    """An unknown unless the host told of its cache, or that it has no ZFS."""
    reading = machine.facts.readings.get(ARC.name)
    if isinstance(reading, Missing) and reading.gap is Gap.ABSENT:
        return []
    return gaps(check, machine, ARC)
