"""What no rung mends, whatever comes of it: a person does, so nothing is begun."""

from dataclasses import dataclass

from fleetops.model.machine import HOLDERS
from fleetops.platforms import platform_of
from fleetops.steps.support.base import Situation


@dataclass(frozen=True)
class Beyond:
    """Why the node would not be clean at the end, the guard that says so, and what a person does about it."""

    why: str
    guard: str
    mend: str


def beyond(situation: Situation) -> Beyond | None:
    """None where a rung may help."""
    return _other_service(situation) or _mismatch(situation) or _lost(situation)


def _other_service(situation: Situation) -> Beyond | None:
    """Another service on the node's GPUs is not touched, so they never come back to idle."""
    holding = {holder.pid for holder in situation.observation.node_facts.value(HOLDERS) or ()}
    for service in situation.attribution.others:
        if service.launcher and any(process.pid in holding for process in service.processes):
            why = (
                f"another service (pid {service.launcher.pid}, port {service.port}) uses the GPUs of"
                f" {situation.node_name}: it is not touched, and beside it the node is never clean"
            )
            return Beyond(why, "other-service", "")
    return None


def _mismatch(situation: Situation) -> Beyond | None:
    """Library and module of two releases: neither a reset nor a restart of the guest brings them together."""
    told = _told(situation, "driver-mismatch")
    if not told:
        return None
    again = f"then fleetops recover {situation.node_name}"
    return Beyond(told, "driver", f"a person brings library and module to one release, {again}")


def _lost(situation: Situation) -> Beyond | None:
    """A GPU that fell off the bus comes back with its machine's power; a VM's goes back to its host when that stops."""
    told = _told(situation, "gpu-lost")
    node = situation.observation.node
    if not told or (node.guest and (power := platform_of(node).power) and power.resets_gpus):
        return None
    machine = node.hypervisor or node.name
    return Beyond(told, "driver", f"a person power-cycles {machine}, then fleetops recover {node.name}")


def _told(situation: Situation, check: str) -> str:
    return next(
        (one.evidence for one in situation.findings if one.check == check and situation.has(check)), ""
    )
