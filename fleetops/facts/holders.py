"""Which processes have an NVIDIA device file open, by /proc/PID/fd.

For zombie leaders their threads are looked into as well: fuser and lsof look only at /proc/PID/fd, which is empty
then, and miss them (measured). A CUDA process holds the files of all GPUs, not only of those that it uses.
"""

from fleetops.facts.output import finished_lines, proc_links, require_not_denied
from fleetops.facts.scripts import LINKS, PLAIN_TEXT
from fleetops.model.command import Outcome, shell
from fleetops.model.fact import Fact
from fleetops.model.machine import HOLDERS, Holder

SCRIPT = PLAIN_TEXT + LINKS + "links '/dev/nvidia*'\necho end\n"


def parse(outcome: Outcome) -> tuple[Holder, ...]:
    """One holder for each process and file. Raises Unparsable where a process could not be looked into."""
    require_not_denied(outcome)
    return device_holders(finished_lines(outcome))


def device_holders(found: list[str]) -> tuple[Holder, ...]:
    """The holders among the lines of the `links` script."""
    holders: dict[tuple[int, str], Holder] = {}
    for pid, tid, path in proc_links(found):
        if path.startswith("/dev/nvidia"):
            holders.setdefault((pid, path), Holder(pid=pid, tid=tid, path=path))
    return tuple(holders[key] for key in sorted(holders))


FACT: Fact[tuple[Holder, ...]] = Fact(HOLDERS, shell(SCRIPT, root=True), parse)
