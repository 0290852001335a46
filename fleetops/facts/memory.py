"""Memory of a host, from /proc/meminfo. In an LXC container this is lxcfs's view, bounded by the container's limit."""

from fleetops.facts.output import kib, lines, require_ok
from fleetops.model.command import Command, Outcome
from fleetops.model.fact import Fact, Unparsable
from fleetops.model.machine import MEMORY, Memory


def parse(outcome: Outcome) -> Memory:
    """Fields by name. Raises Unparsable where one that matters is missing or absurd (an lxcfs bug gave total 0)."""
    require_ok(outcome, "cat")
    fields = dict(line.split(":", 1) for line in lines(outcome) if ":" in line)
    missing = [name for name in ("MemTotal", "MemAvailable", "MemFree", "Shmem") if name not in fields]
    if missing:
        raise Unparsable(f"/proc/meminfo has no {', '.join(missing)}")
    memory = Memory(
        total_bytes=kib(fields["MemTotal"]),
        available_bytes=kib(fields["MemAvailable"]),
        free_bytes=kib(fields["MemFree"]),
        shmem_bytes=kib(fields["Shmem"]),
        swap_total_bytes=kib(fields.get("SwapTotal", "0 kB")),
        swap_free_bytes=kib(fields.get("SwapFree", "0 kB")),
    )
    if memory.total_bytes <= 0 or not 0 <= memory.available_bytes <= memory.total_bytes:
        raise Unparsable(
            f"MemTotal {fields['MemTotal'].strip()}, MemAvailable {fields['MemAvailable'].strip()}"
        )
    return memory


FACT: Fact[Memory] = Fact(MEMORY, Command(argv=("cat", "/proc/meminfo")), parse)
