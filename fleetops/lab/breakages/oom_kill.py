"""The kernel has killed a process of the node for want of memory; the service goes on."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.host_faults import meddle_with_driver
from fleetops.lab.kernel_log import out_of_memory

NAME = "oom-kill"
SUMMARY = "the service runs; a tokenizer job beside it was ended by the kernel's OOM killer, which only its log tells"
EXPLANATION = (
    "Somebody's job asked for more memory than was left, and the kernel chose it and not the service. Afterwards there is"
    " memory again, and every process that one looks for is there; the next time it may choose a rank. Of a container at"
    " its limit the kill stands in its hypervisor's kernel log, under the container's cgroup."
)
PLATFORMS = ("lxc", "vm", "bare")
_HELD_KB = 61_000_000


def apply(folder: Path, node: str) -> None:
    """Start a service, and have the kernel tell of a kill."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.serve_profile()
    inside = broken.host.kind == "lxc"
    guest = str(broken.host.guest_id) if inside else "host"
    told = out_of_memory(48_213, "python3", _HELD_KB, guest=guest, at_limit=inside)
    meddle_with_driver(broken, "log", *told)
