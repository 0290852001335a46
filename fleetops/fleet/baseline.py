"""How an idle node looks when nobody recorded it: computed from what can be accounted for, with the margin stated."""

from fleetops.model.fact import Facts
from fleetops.model.finding import Baseline
from fleetops.model.machine import MEMORY, PROCESSES
from fleetops.model.units import GB, show_gb

# The kernel and the page tables of a large node keep 0.5 to 1 % for themselves; twice that is the margin here.
_KERNEL_SHARE = 0.01
_LEAST_MARGIN_BYTES = 4 * GB


def estimate_baseline(facts: Facts) -> Baseline | None:
    """MemTotal less the kernel's own share, with a wide margin; None where memory could not be read.

    What the node's present processes hold in RSS is not subtracted: they are either the service's, which will be
    gone, or small beside the margin. GPUs are taken to use nothing when idle (drivers report 0 to a few MiB).
    """
    memory = facts.value(MEMORY)
    if memory is None or facts.value(PROCESSES) is None:
        return None
    margin = max(_LEAST_MARGIN_BYTES, round(memory.total_bytes * 2 * _KERNEL_SHARE))
    return Baseline(
        available_bytes=round(memory.total_bytes * (1 - _KERNEL_SHARE)),
        source=f"MemTotal less 1 %, within {show_gb(margin)}; no idle state was recorded",
        margin_bytes=margin,
    )
