"""What the checks of GPUs share: the GPUs that answer, what they are called, and on whose machine something is done."""

from collections.abc import Callable, Iterable

from fleetops.checks.gpu.gpu_wants_reset import RESETS
from fleetops.checks.support.saying import listed
from fleetops.model.finding import Observation
from fleetops.model.gpu import GPUS, Gpu


def gpus_of(observation: Observation, suits: Callable[[Gpu], bool] = lambda _: True) -> list[Gpu]:
    """Those of the node that answer and suit; none where that is not known."""
    gpus = observation.node_facts.value(GPUS)
    return [gpu for gpu in (gpus.gpus if gpus else ()) if suits(gpu)]


def called(gpu: Gpu) -> str:
    """`GPU 3 at 0000:4a:00.0`: the number that a person knows it by, and the address that stays."""
    return f"GPU {gpu.index} at {gpu.bdf}"


def driver_host(observation: Observation) -> str:
    """The machine whose driver runs the node's GPUs: a container's is its hypervisor's."""
    node = observation.node
    return node.hypervisor if node.guest and node.guest.kind == "lxc" and node.hypervisor else node.name


def hardware_host(observation: Observation) -> str:
    """The machine that the node's GPUs are plugged into."""
    return (observation.node.hypervisor if observation.node.guest else "") or observation.node.name


def in_vm(observation: Observation) -> bool:
    """Whether the node is a VM: its driver is its own, and its host resets its GPUs when it starts."""
    guest = observation.node.guest
    return guest is not None and guest.kind == "vm"


def reset_next(observation: Observation, gpus: Iterable[Gpu]) -> dict[str, str]:
    """What comes next where a reset helps, for `found`: a recovery where the driver asks for it, else a person.

    Nothing here resets a GPU that works and does not ask for it: it may well be serving.
    """
    waiting = list(gpus)
    if all(gpu.recovery_action in RESETS for gpu in waiting):
        return {"command": "recover --dry-run"}
    addresses = ",".join(gpu.bdf for gpu in waiting)
    names = listed(f"GPU {gpu.index}" for gpu in waiting)
    how = f"nvidia-smi -r -i {addresses} on {driver_host(observation)}"
    return {"person": f"when nothing uses {names}, reset it ({how})"}
