"""Two guests whose configurations give them the same GPU, or other PCI device: they cannot both run, or disturb each other.

A VM's start fails while another holds its device, and takes a GPU away from the host's driver under a container's feet.
Guests that get slices of a GPU (vGPU) share it on purpose.
"""

from collections.abc import Mapping
from itertools import combinations

from fleetops.checks.support.guests import RUNNING, called
from fleetops.checks.support.machine import gaps, of_sight, told
from fleetops.checks.support.saying import listed
from fleetops.model.finding import Finding, HypervisorCheck, Severity
from fleetops.model.guest import CLAIMS, GUEST, GUESTS, DeviceClaim, same_device
from fleetops.model.sight import HypervisorSight

_NAME = "gpu-configured-twice"


def judge(sight: HypervisorSight) -> list[Finding]:
    """One finding per pair: critical where both run or are set to start with the host, else a warning."""
    host = of_sight(sight)
    if unknown := gaps(_NAME, host, CLAIMS, GUESTS):
        return unknown
    up = _up(sight)
    claims = sight.facts.value(CLAIMS) or ()
    pairs = ((one, other, shared(one, other)) for one, other in combinations(claims, 2))
    twice = [
        _finding(sight, (one, other), what, up)
        for one, other, what in pairs
        if what and not (one.vgpu and other.vgpu)
    ]
    return [*twice, *_unresolved(sight, claims)]


def _up(sight: HypervisorSight) -> Mapping[int, str]:
    """Guests that run or start with the host, and which of the two; the latter is known of the inventory's nodes alone."""
    starting = {}
    for facts in sight.guests.values():
        state = facts.value(GUEST)
        if state is not None and state.config.get("onboot") == "1":
            starting[state.id] = "starts with the host"
    running = {one.id: "runs" for one in sight.facts.value(GUESTS) or () if one.status == RUNNING}
    return {**starting, **running}


def shared(one: DeviceClaim, other: DeviceClaim) -> tuple[str, ...]:
    """What both are given, in words; empty where they have nothing in common as far as is known."""
    addresses = tuple(
        dict.fromkeys(
            mine for mine in one.addresses for theirs in other.addresses if same_device(mine, theirs)
        )
    )
    if addresses:
        return addresses
    if one.unresolved and set(one.unresolved) & set(other.unresolved):
        return tuple(f"mapping {name}" for name in sorted(set(one.unresolved) & set(other.unresolved)))
    if one.minors is None or other.minors is None:
        return _of_all(one, other)
    return tuple(f"/dev/nvidia{minor}" for minor in sorted(set(one.minors) & set(other.minors)))


def _of_all(one: DeviceClaim, other: DeviceClaim) -> tuple[str, ...]:
    """A container may be given all GPUs of the host's driver; what a VM's unresolved mapping stands for is not known."""
    if one.unresolved or other.unresolved or one.minors == () or other.minors == ():
        return ()
    named = one.minors or other.minors or ()
    return tuple(f"/dev/nvidia{minor}" for minor in named) or ("all GPUs of the host's driver",)


def _finding(
    sight: HypervisorSight,
    pair: tuple[DeviceClaim, DeviceClaim],
    what: tuple[str, ...],
    up: Mapping[int, str],
) -> Finding:
    ids = [claim.guest_id for claim in pair]
    how = ", ".join(f"{called(sight, guest_id)} {up.get(guest_id, 'is down')}" for guest_id in ids)
    evidence = f"guests {ids[0]} and {ids[1]} are both given {listed(what)}: {how}"
    severity = Severity.CRITICAL if all(guest_id in up for guest_id in ids) else Severity.WARNING
    run = "grep -rHE 'hostpci|nvidia|195:' /etc/pve/lxc /etc/pve/qemu-server"
    subject = f"GPU of {ids[0]} and {ids[1]}"
    return told(_NAME, of_sight(sight), severity, subject, evidence, run=run)


def _unresolved(sight: HypervisorSight, claims: tuple[DeviceClaim, ...]) -> list[Finding]:
    """What a mapping stands for on this host was not told, so that it cannot be compared with other guests' devices."""
    if len(claims) < 2:
        return []
    return [
        told(
            _NAME,
            of_sight(sight),
            Severity.UNKNOWN,
            f"devices of {claim.guest_id}",
            f"guest {called(sight, claim.guest_id)}: nothing tells what mapping {listed(claim.unresolved)} is here",
            run="pvesh get /cluster/mapping/pci",
        )
        for claim in claims
        if claim.unresolved
    ]


CHECK = HypervisorCheck(name=_NAME, title="no GPU is given to two guests", judge=judge)
