"""One guest as its Proxmox host sees it at this moment: status, lock, configuration, first process, machine-id.

`qm stop` ends with success, and without a pid file, also where the emulator is still there (qemu-server vm_stop): it is
looked for by its own command line then. What a container's kill could not end is found by its cgroup (a process in
D state outlives the container's first one).

As few of Proxmox's tools are asked as can be: each of them loads all of Proxmox, for up to a second of CPU, and a recovery
looks dozens of times. The configuration in force is the file's part before its first section, and a container that has a
first process runs. Only `qm status` knows whether a VM is paused, so that is asked; and so are the tools for all that the
files do not tell. Only zero or not zero is meaningful in their exit status (a plain `die` is Perl's errno or 255).
"""

import re
from collections.abc import Iterable
from functools import partial

from fleetops.facts.output import finished_lines, kib
from fleetops.facts.proxmox import require_guest, settings
from fleetops.facts.scripts import PLAIN_TEXT
from fleetops.model.command import Outcome, shell
from fleetops.model.fact import Absent, Fact, Unparsable
from fleetops.model.guest import GUEST, GuestProcess, GuestState

_LEFT = re.compile(r"left: (\d+) (\S) (.*)", re.DOTALL)

TOOLS = {"lxc": "pct", "vm": "qm"}
"""Guest kind -> Proxmox's tool for it."""

_ASKED = """\
file=/etc/pve/lxc/$id.conf
if [ "$tool" = qm ]; then file=/etc/pve/qemu-server/$id.conf; fi
configuration=$(sed '/^\\[/,$d; /^#/d; /^$/d' "$file" 2>/dev/null)
status=
if [ "$tool" = pct ] && command -v lxc-info >/dev/null; then
  pid=$(lxc-info -n "$id" -p -H 2>/dev/null)
  if [ -n "$pid" ] && [ -d "/proc/$pid" ]; then status='status: running'; fi
fi
if [ -z "$status" ]; then status=$("$tool" status "$id") || exit; fi
if [ -z "$configuration" ]; then
  configuration=$("$tool" config "$id" --current 1 2>/dev/null) || configuration=$("$tool" config "$id") || exit
fi
"""
_HEAD = (
    PLAIN_TEXT
    + """\
tool=$1
id=$2
pid=
if ! command -v "$tool" >/dev/null; then echo "no $tool"; echo end; exit; fi
"""
)
_TAIL = """\
echo "$status"
emulator() {
  for name in $(grep -slE '^(kvm|qemu-system-.*)$' /proc/[0-9]*/comm); do
    if tr '\\000' '\\n' < "${name%comm}cmdline" 2>/dev/null | grep -A 1 -x -e -id | grep -qx "$id"; then
      name=${name#/proc/}
      echo "${name%/comm}"
      return
    fi
  done
}
left() {
  sed -n 's/^\\([0-9]*\\) (\\(.*\\)) \\([A-Z]\\) .*/left: \\1 \\3 \\2/p' "$1" 2>/dev/null
}
members() {
  for file in $(grep -slE "/lxc(\\.payload)?[./]$id(/|\\$)" /proc/[0-9]*/cgroup); do left "${file%cgroup}stat"; done
}
if [ "$tool" = qm ]; then
  if [ -r "/run/qemu-server/$id.pid" ]; then read -r pid < "/run/qemu-server/$id.pid"; fi
  if [ -z "$pid" ] || [ ! -d "/proc/$pid" ]; then pid=$(emulator); fi
elif [ -z "$pid" ] && command -v lxc-info >/dev/null; then
  pid=$(lxc-info -n "$id" -p -H 2>/dev/null)
fi
if [ "$tool" = pct ] && [ -n "$pid" ]; then members | grep '^left: [0-9]* D '; fi
if [ "$tool" = pct ] && [ -z "$pid" ]; then members; fi
if [ -n "$pid" ] && [ -d "/proc/$pid" ]; then
  echo "init_pid: $pid"
  if [ "$tool" = qm ]; then
    awk '/^(VmRSS|HugetlbPages):/ { held += $2 } END { print "held: " held + 0 " kB" }' "/proc/$pid/status"
    if [ "$status" = 'status: stopped' ]; then left "/proc/$pid/stat"; fi
  fi
  file=/proc/$pid/root/etc/machine-id
  if [ "$tool" = pct ] && [ -f "$file" ] && [ ! -L "$file" ] && read -r machine_id < "$file"; then
    echo "machine_id: $machine_id"
  fi
fi
echo configuration
printf '%s\\n' "$configuration"
echo end
"""
"""A link in place of the container's machine-id is not followed: it would lead into the host's own files."""

SCRIPT = _HEAD + _ASKED + _TAIL


def fact(kind: str, guest_id: int) -> Fact[GuestState]:
    """The state of guest `guest_id`, `kind` being `lxc` or `vm`."""
    command = shell(SCRIPT, TOOLS[kind], str(guest_id), deadline_s=30.0, root=True)
    return Fact(GUEST, command, partial(parse, kind=kind, guest_id=guest_id))


def parse(outcome: Outcome, kind: str, guest_id: int) -> GuestState:
    """Raises Absent where the host has no such guest or is no Proxmox host, Unparsable where its tool failed."""
    require_guest(outcome)
    found = finished_lines(outcome)
    if found == [f"no {TOOLS[kind]}"]:
        raise Absent(f"there is no {TOOLS[kind]} on this host")
    if "configuration" not in found:
        raise Unparsable(f"no configuration of guest {guest_id}: {outcome.said}")
    told = found[: found.index("configuration")]
    now = _pairs(told)
    config, raw = settings(found[found.index("configuration") + 1 :])
    if "status" not in now or not config:
        raise Unparsable(f"no status or configuration of guest {guest_id}: {outcome.said}")
    if "description" in config:
        config["description"] = _decoded(config["description"])
    machine_id = now.get("machine_id", "").strip()
    return GuestState(
        kind=kind,
        id=guest_id,
        status=now["status"],
        lock=config.get("lock", ""),
        config=config,
        raw=raw,
        init_pid=int(now["init_pid"]) if "init_pid" in now else None,
        machine_id=machine_id if re.fullmatch(r"[0-9a-f]{32}", machine_id) else "",
        held_bytes=kib(now["held"]) if "held" in now else None,
        left=tuple(
            GuestProcess(pid=int(match[1]), state=match[2], comm=match[3])
            for match in map(_LEFT.fullmatch, told)
            if match
        ),
    )


def _decoded(text: str) -> str:
    """The description, which these tools print percent-encoded, on one line."""
    return re.sub(
        "(?:%[0-9A-Fa-f]{2})+",
        lambda match: bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace"),
        text,
    )


def _pairs(found: Iterable[str]) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in found if ": " in line)
