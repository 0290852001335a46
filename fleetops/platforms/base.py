"""What a platform is: how the GPUs of a node of that kind are reset and its power is switched, and what must hold before."""

from collections.abc import Callable
from dataclasses import dataclass

from fleetops.model.fact import Facts
from fleetops.model.finding import Observation
from fleetops.model.gpu import Gpu
from fleetops.model.plan import Action


@dataclass(frozen=True, kw_only=True)
class Power:
    """Switching a guest off and on through its hypervisor.

    Attributes:
        stop, start: the hypervisor's own command; its deadline is what it may take.
        is_down: why the guest is not proven to be down, "" when it is: a command's success proves nothing.
        start_deadline_s: how long a start may legally take.
        resets_gpus: the hypervisor resets the guest's GPUs at every start; where it does not, they are reset in between.
    """

    stop: Callable[[Observation], Action]
    start: Callable[[Observation], Action]
    is_down: Callable[[Observation], str]
    start_deadline_s: Callable[[Observation], float]
    resets_gpus: bool


@dataclass(frozen=True, kw_only=True)
class Platform:
    """One kind of node.

    Attributes:
        kind: `lxc`, `vm` or `bare`.
        guards: guards that must hold before its GPUs are reset.
        power_guards: guards that must hold before its power is switched.
        reset_host: the name of the host that owns the GPU driver: resets are issued there.
        driver_facts: what was read on that host. Raises Refused where there is none.
        gpus: the node's own GPUs, as that host reports them. Raises Refused where that is not known for all of them.
        tenants: who else uses them, "" where nobody does. Raises Refused where that is not known.
        in_the_way: who keeps a reset from working though it only serves the driver, and could not be started again; "" where
            nobody does. Raises Refused where that is not known.
        reset: the one call that resets some of them and leaves persistence mode and services as they were, whatever
            becomes of it.
        power: None where only a person can switch it.
    """

    kind: str
    guards: tuple[str, ...]
    power_guards: tuple[str, ...] = ()
    reset_host: Callable[[Observation], str]
    driver_facts: Callable[[Observation], Facts]
    gpus: Callable[[Observation], tuple[Gpu, ...]]
    tenants: Callable[[Observation], str]
    in_the_way: Callable[[Observation], str]
    reset: Callable[[Observation, tuple[Gpu, ...]], Action]
    power: Power | None = None
