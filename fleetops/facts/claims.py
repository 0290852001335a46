"""Which GPUs the configurations of a Proxmox host's guests give them, running or not.

A container names device files (`dev0: /dev/nvidia0`, `lxc.mount.entry: /dev/nvidia0 ...`) or device numbers
(`lxc.cgroup2.devices.allow: c 195:0 rwm`); `c 195:*` gives it every GPU of the host unless the files that it gets
narrow that. A VM names PCI devices (`hostpci0: 0000:01:00.0` or a cluster mapping).

Which guests there are, `pct list` and `qm list` say: they fail where the cluster file system is down, and then no
claim may be read as none. The configurations are read from their files, a second per guest faster than by the tools:
the part before the first `[section]` is what is in force, snapshots and pending values follow it.
"""

import re
from collections.abc import Iterable, Iterator

from fleetops.facts.nvidia_xml import short_bdf
from fleetops.facts.output import finished_lines
from fleetops.facts.proxmox import settings
from fleetops.facts.scripts import PLAIN_TEXT
from fleetops.model.command import Outcome, shell
from fleetops.model.fact import Absent, Fact, Unparsable
from fleetops.model.guest import CLAIMS, DeviceClaim

NVIDIA_MAJOR = "195"
"""Character device major of the GPUs; 254 and 255 under it are modeset and the control device."""

SCRIPT = (
    PLAIN_TEXT
    + """\
guests() {  # guests TOOL KIND FOLDER
  if ! command -v "$1" >/dev/null; then echo "no $1"; return; fi
  list=$("$1" list) || exit
  printf '%s\\n' "$list" | while read -r id rest; do
    case $id in ''|*[!0-9]*) continue ;; esac
    echo "guest $2 $id"
    if [ -r "$3/$id.conf" ]; then cat "$3/$id.conf"; else "$1" config "$id" --current 1; fi
    echo
  done
}
for information in /proc/driver/nvidia/gpus/*/information; do
  if [ -r "$information" ]; then
    echo "gpu $information"
    grep '^Device Minor' "$information"
  fi
done
guests pct lxc /etc/pve/lxc
guests qm vm /etc/pve/qemu-server
echo end
"""
)

_GPU_FILE = re.compile(r"/dev/nvidia(\d+)")
_ALLOW = re.compile(r"c\s+195:(\d+|\*)\s")
_PCI = re.compile(r"(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-7])?", re.IGNORECASE)


def parse(outcome: Outcome) -> tuple[DeviceClaim, ...]:
    """By guest id. Raises Absent on a host without Proxmox, Unparsable where a guest's configuration is missing."""
    found = finished_lines(outcome)
    if "no pct" in found and "no qm" in found:
        raise Absent("neither pct nor qm is on this host")
    minors = _minors(found)
    claims = []
    for kind, guest_id, config in _configurations(found):
        wanted = _container(config) if kind == "lxc" else _machine(config, minors)
        if wanted != ():
            claims.append(DeviceClaim(guest_id=guest_id, kind=kind, minors=wanted))
    return tuple(sorted(claims, key=lambda claim: claim.guest_id))


def _minors(found: list[str]) -> dict[str, int]:
    """PCI address -> minor of the GPUs that this host's driver has."""
    minors: dict[str, int] = {}
    bdf = ""
    for line in found:
        if line.startswith("gpu /proc/driver/nvidia/"):
            bdf = short_bdf(line)
        elif line.startswith("Device Minor") and bdf:
            minors[bdf] = int(line.partition(":")[2])
    return minors


def _configurations(found: list[str]) -> Iterator[tuple[str, int, list[str]]]:
    """Kind, id and configuration lines in force of each guest."""
    starts = [at for at, line in enumerate(found) if re.fullmatch(r"guest (lxc|vm) \d+", line)]
    for start, stop in zip(starts, [*starts[1:], len(found)], strict=True):
        _, kind, guest_id = found[start].split()
        config = found[start + 1 : stop]
        section = next((at for at, line in enumerate(config) if line.startswith("[")), len(config))
        if not any(line.strip() for line in config[:section]):
            raise Unparsable(f"the configuration of guest {guest_id} could not be read")
        yield kind, int(guest_id), config[:section]


def _container(config: list[str]) -> tuple[int, ...] | None:
    """Minors that a container gets; None for all, empty for none."""
    known, raw = settings(config)
    devices = [value for key, value in known.items() if re.fullmatch(r"dev\d+", key)]
    mounts = [value.split() for key, value in raw if key == "lxc.mount.entry"]
    rules = [value + " " for key, value in raw if re.fullmatch(r"lxc\.cgroup2?\.devices\.allow", key)]
    if any(mount and mount[0].rstrip("/") == "/dev" for mount in mounts):
        return None
    files = [path for value in devices for path in re.split(r"[,=]", value)]
    files += [
        path
        for mount in mounts
        for path in (*mount[:1], *("/" + target.lstrip("/") for target in mount[1:2]))
    ]
    named = {int(match[1]) for match in map(_GPU_FILE.fullmatch, files) if match}
    allowed = {match[1] for match in map(_ALLOW.match, rules) if match}
    named |= {int(minor) for minor in allowed if minor != "*" and int(minor) < 254}
    if not named and "*" in allowed:
        return None
    return tuple(sorted(named))


def _machine(config: list[str], minors: dict[str, int]) -> tuple[int, ...] | None:
    """Minors of the host's GPUs that a VM would take from its driver; None where a mapping hides which."""
    known, _ = settings(config)
    wanted: set[int] = set()
    for value in (value for key, value in known.items() if re.fullmatch(r"hostpci\d+", key)):
        device = value.split(",", 1)[0].removeprefix("host=")
        if "mapping=" in value or not all(map(_PCI.fullmatch, device.split(";"))):
            return None
        wanted |= set(_matching(device.split(";"), minors))
    return tuple(sorted(wanted))


def _matching(addresses: Iterable[str], minors: dict[str, int]) -> Iterator[int]:
    """`01:00` means all functions of that device, and the domain may be left out."""
    for address in addresses:
        full = address.lower() if address.count(":") == 2 else f"0000:{address.lower()}"
        yield from (minor for bdf, minor in minors.items() if bdf == full or bdf.startswith(full + "."))


FACT: Fact[tuple[DeviceClaim, ...]] = Fact(CLAIMS, shell(SCRIPT, deadline_s=30.0, root=True), parse)
