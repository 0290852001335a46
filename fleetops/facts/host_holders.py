"""Processes of a Proxmox host, its containers' included, that have an NVIDIA device file open, and whose they are.

A container's process is known by its pid namespace, which is that of the container's first process. One that lives
in a namespace further down (Docker inside the container) is known by its cgroup (`/lxc/174/...`), else by the first
of its ancestors that is known.
"""

import re

from fleetops.facts.holders import device_holders
from fleetops.facts.output import finished_lines, proc_files, require_not_denied
from fleetops.facts.scripts import LINKS, PLAIN_TEXT
from fleetops.model.command import Outcome, shell
from fleetops.model.device_service import system_unit
from fleetops.model.fact import Fact, Unparsable
from fleetops.model.guest import HOST_HOLDERS, HostHolder

SCRIPT = (
    PLAIN_TEXT
    + LINKS
    + """\
namespace() { readlink "/proc/$1/ns/pid"; }
found=$(links '/dev/nvidia*')
printf '%s\\n' "$found"
echo "host $(namespace self)"
if [ -n "$found" ] && command -v pct >/dev/null; then
  list=$(pct list) || exit
  printf '%s\\n' "$list" | while read -r id state rest; do
    if [ "$state" = running ]; then
      pid=$(lxc-info -n "$id" -p -H) && echo "guest $id $(namespace "$pid")"
    fi
  done
fi
for pid in $(printf '%s\\n' "$found" | sed -n 's|^/proc/\\([0-9]*\\)/.*|\\1|p' | sort -un); do
  grep -saH '' "/proc/$pid/comm" "/proc/$pid/cgroup"
  while [ "${pid:-0}" -gt 1 ] && [ -d "/proc/$pid" ]; do
    parent=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$pid/status")
    echo "process $pid $parent $(namespace "$pid")"
    pid=$parent
  done
done
echo end
"""
)

_GUEST = re.compile(r"guest (\d+) (pid:\[\d+\])")
_PROCESS = re.compile(r"process (\d+) (\d+) (pid:\[\d+\])?")
_LXC_CGROUP = re.compile(r"/lxc(?:\.payload)?[./](\d+)(?:/|$)")


def parse(outcome: Outcome) -> tuple[HostHolder, ...]:
    """One for each process and file. Raises Unparsable where a process could not be looked into."""
    require_not_denied(outcome)
    found = finished_lines(outcome)
    host = next((line.removeprefix("host ") for line in found if line.startswith("host pid:")), "")
    if not host:
        raise Unparsable(f"the host's own namespace could not be read: {outcome.said}")
    guests = {match[2]: int(match[1]) for match in map(_GUEST.fullmatch, found) if match}
    processes = {
        int(match[1]): (int(match[2]), match[3] or "") for match in map(_PROCESS.fullmatch, found) if match
    }
    files = proc_files(found)
    return tuple(
        HostHolder(
            pid=holder.pid,
            comm=files.get((holder.pid, None, "comm"), ""),
            path=holder.path,
            guest_id=_guest_of(holder.pid, guests, processes, files.get((holder.pid, None, "cgroup"), "")),
            unit=_unit_of(files.get((holder.pid, None, "cgroup"), "")),
        )
        for holder in device_holders(found)
    )


def _guest_of(
    pid: int, guests: dict[str, int], processes: dict[int, tuple[int, str]], cgroup: str
) -> int | None:
    """The container, by namespace of the process or of an ancestor, else by cgroup; None for the host's own."""
    seen = pid
    while seen in processes:
        seen, namespace = processes[seen]
        if namespace in guests:
            return guests[namespace]
    inside = _LXC_CGROUP.search(cgroup)
    return int(inside[1]) if inside else None


def _unit_of(cgroup: str) -> str:
    """The first service of the system's that a line of the process's cgroup file names."""
    paths = (line.split(":", 2)[2] for line in cgroup.splitlines() if line.count(":") >= 2)
    return next(filter(None, map(system_unit, paths)), "")


FACT: Fact[tuple[HostHolder, ...]] = Fact(HOST_HOLDERS, shell(SCRIPT, deadline_s=30.0, root=True), parse)
