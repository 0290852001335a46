"""What a platform is: how the GPUs of a node of that kind are reset, and what must hold before."""

from collections.abc import Callable
from dataclasses import dataclass

from fleetops.model.finding import Observation
from fleetops.model.gpu import Gpu
from fleetops.model.plan import Action


@dataclass(frozen=True, kw_only=True)
class Platform:
    """One kind of node.

    Attributes:
        kind: `lxc`, `vm` or `bare`.
        guards: guards that must hold before its GPUs are reset.
        gpus: the node's own GPUs, as whoever owns their driver reports them. Raises Refused where that is not known.
        reset: the one call that resets some of them and leaves persistence mode as it was, whatever becomes of it.
        reset_host: the name of the host on which the reset is issued.
    """

    kind: str
    guards: tuple[str, ...]
    reset_host: Callable[[Observation], str]
    gpus: Callable[[Observation], tuple[Gpu, ...]]
    reset: Callable[[Observation, tuple[Gpu, ...]], Action]
