"""Processes of a Proxmox host, its containers' included, that have an NVIDIA device file open, and whose they are.

A container's process is known by its pid namespace, which is that of the container's first process. One that lives
in a namespace further down (Docker inside the container) is known by its cgroup (`/lxc/174/...`), else by the first
of its ancestors that is known. Which containers there are, their configurations' names tell: `pct` loads all of Proxmox.
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
ancestors() {  # ancestors PID: the process and those above it, each once and without starting anything for one
  pid=$1
  while [ "${pid:-0}" -gt 1 ]; do
    case $seen in *" $pid "*) return ;; esac
    parent=
    while read -r key value; do
      if [ "$key" = PPid: ]; then parent=$value; break; fi
    done < "/proc/$pid/status" || return
    seen="$seen$pid "
    echo "process $pid $parent"
    pid=$parent
  done
}
found=$(links '/dev/nvidia*')
printf '%s\\n' "$found"
inits=
if [ -n "$found" ] && command -v pct >/dev/null; then
  set -- /etc/pve/lxc/*.conf
  if [ -e "$1" ]; then
    containers=$(for file; do file=${file##*/}; echo "${file%.conf}"; done)
  else
    list=$(pct list) || exit
    containers=$(printf '%s\\n' "$list" | while read -r id state rest; do
      if [ "$state" = running ]; then echo "$id"; fi
    done)
  fi
  for id in $containers; do
    if pid=$(lxc-info -n "$id" -p -H) && [ -n "$pid" ]; then echo "init $id $pid"; inits="$inits $pid"; fi
  done
fi
seen=' '
holding=$(printf '%s\\n' "$found" | sed -n 's|^/proc/\\([0-9]*\\)/.*|\\1|p' | sort -un)
for holder in $holding; do { ancestors "$holder"; } 2>/dev/null; done
set --
for pid in $holding; do set -- "$@" "/proc/$pid/comm" "/proc/$pid/cgroup"; done
if [ $# -gt 0 ]; then grep -saH '' "$@"; fi
set -- /proc/self/ns/pid
for pid in $inits $seen; do set -- "$@" "/proc/$pid/ns/pid"; done
find "$@" -maxdepth 0 -printf 'namespace %p %l\\n' 2>/dev/null
echo end
"""
)

_NAMESPACE = re.compile(r"namespace /proc/(\d+|self)/ns/pid (pid:\[\d+\])")
_INIT = re.compile(r"init (\d+) (\d+)")
_PROCESS = re.compile(r"process (\d+) (\d+)")
_LXC_CGROUP = re.compile(r"/lxc(?:\.payload)?[./](\d+)(?:/|$)")


def parse(outcome: Outcome) -> tuple[HostHolder, ...]:
    """One for each process and file. Raises Unparsable where a process could not be looked into."""
    require_not_denied(outcome)
    found = finished_lines(outcome)
    namespaces = {match[1]: match[2] for match in map(_NAMESPACE.fullmatch, found) if match}
    if "self" not in namespaces:
        raise Unparsable(f"the host's own namespace could not be read: {outcome.said}")
    inits = {match[2]: int(match[1]) for match in map(_INIT.fullmatch, found) if match}
    guests = {namespaces[pid]: number for pid, number in inits.items() if pid in namespaces}
    processes = {
        int(match[1]): (int(match[2]), namespaces.get(match[1], ""))
        for match in map(_PROCESS.fullmatch, found)
        if match
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
