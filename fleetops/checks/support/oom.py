"""Whom the kernel's OOM killer has ended, and for want of whose memory.

Lines of mm/oom_kill.c: `oom-kill:constraint=...,oom_memcg=...,task_memcg=...,task=COMM,pid=N,uid=N` (from 4.19 on),
`Task in CGROUP killed as a result of limit of CGROUP` (before), `Tasks in CGROUP are going to be killed due to
memory.oom.group set`, and `... Killed process N (COMM) total-vm:NkB, anon-rss:NkB, ...` for each victim.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from fleetops.checks.support.saying import listed
from fleetops.model.kernel import KernelLine
from fleetops.model.units import show_gb

_WHY = re.compile(
    r"oom-kill:constraint=(\w+),.*?(?:oom_memcg=([^,]*),)?task_memcg=([^,]*),task=(.*),pid=([0-9]+),uid=[0-9]+"
)
_GROUP = re.compile(r"Tasks in (\S+) are going to be killed due to memory\.oom\.group")
_OLD_WHY = re.compile(r"Task in (\S+) killed as a result of limit of (\S+)")
_KILLED = re.compile(
    r"(Memory cgroup out of memory)?.*?Kill(?:ed)? process ([0-9]+)(?:, UID [0-9]+,)? \((.*?)\)(?=,? (?:UID|total-vm|score)|,|$)"
    r"(?:.*?anon-rss:([0-9]+)kB)?"
)


@dataclass(frozen=True, kw_only=True)
class Victim:
    """One process that was killed.

    Attributes:
        pid: as the kernel's own pid namespace counts it; a container counts otherwise.
        cgroup: that it was in; "" where that is not told.
        limit: the cgroup whose limit was reached, "" where it was the whole machine's memory, or is not told.
        for_all: the machine itself was out of memory.
    """

    line: KernelLine
    pid: int
    comm: str
    cgroup: str = ""
    limit: str = ""
    for_all: bool = False
    resident_bytes: int | None = None

    def is_in_container(self, guest_id: int) -> bool:
        """By its cgroup, or the one whose limit it was: Proxmox's `/lxc/174/ns`, plain LXC's `/lxc.payload.174`."""
        pattern = rf"/lxc(\.payload)?[./]{guest_id}(/|$)"
        return bool(re.search(pattern, self.cgroup) or re.search(pattern, self.limit))

    @property
    def container(self) -> int | None:
        """The id of the container that it was in; None where it was in none."""
        match = re.search(r"/lxc(?:\.payload)?[./]([0-9]+)(?:/|$)", self.cgroup or self.limit)
        return int(match[1]) if match else None

    @property
    def virtual_machine(self) -> int | None:
        """The id of the VM whose emulator it was: Proxmox runs each in `qemu.slice/ID.scope`."""
        match = re.search(r"/qemu\.slice/([0-9]+)\.scope(?:/|$)", self.cgroup)
        return int(match[1]) if match else None


def said(killed: Iterable[Victim], whose: Callable[[Victim], str] = lambda _: "") -> str:
    """Those of one name and place together: `sglang::schedul (pids 1651, 1652 in /lxc/174/ns) holding 0.2 GB, ...`.

    whose: what to add of whom a victim was, "" for nothing.
    """
    groups: dict[tuple[str, str, bool, str], list[Victim]] = {}
    for one in killed:
        groups.setdefault((one.comm, one.cgroup, one.for_all, whose(one)), []).append(one)
    return listed(_group_said(of, group) for of, group in groups.items())


def _group_said(of: tuple[str, str, bool, str], group: list[Victim]) -> str:
    comm, cgroup, for_all, whose = of
    held_bytes = sum(one.resident_bytes or 0 for one in group)
    held = f" holding {show_gb(held_bytes)}" if held_bytes else ""
    place = f" in {cgroup}" if cgroup not in {"", "/"} else ""
    why = ", the machine being out of memory" if for_all else ""
    which = f"pid{'s' if len(group) > 1 else ''} {listed(one.pid for one in group)}"
    return f"{comm} ({which}{place}){whose}{held}{why}"


def victims(lines: Iterable[KernelLine]) -> tuple[Victim, ...]:
    """In the order in which they were killed. A line that says why comes before those that name the victims."""
    found: dict[int, Victim] = {}
    cgroup, limit, for_all = "", "", False
    for line in lines:
        if match := _WHY.search(line.text):
            limit, cgroup, for_all = match[2] or "", match[3], match[1] != "CONSTRAINT_MEMCG"
            pid = int(match[5])
            found[pid] = Victim(
                line=line, pid=pid, comm=match[4], cgroup=cgroup, limit=limit, for_all=for_all
            )
        elif match := _OLD_WHY.search(line.text):
            cgroup, limit, for_all = match[1], match[2], False
        elif match := _GROUP.search(line.text):
            cgroup = limit = match[1]
            for_all = False
        elif match := _KILLED.search(line.text):
            known = found.get(int(match[2])) or _unexplained(line, match, cgroup, limit, for_all)
            found[known.pid] = replace(
                known, resident_bytes=int(match[4]) * 1024 if match[4] else known.resident_bytes
            )
    return tuple(found.values())


def _unexplained(line: KernelLine, match: re.Match[str], cgroup: str, limit: str, for_all: bool) -> Victim:
    """A victim that no line before named: of the same want of memory where that was a cgroup's."""
    if not match[1]:
        return Victim(line=line, pid=int(match[2]), comm=match[3], for_all=for_all or not cgroup)
    return Victim(line=line, pid=int(match[2]), comm=match[3], cgroup=cgroup, limit=limit)
