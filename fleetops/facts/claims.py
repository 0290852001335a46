"""Which GPUs the configurations of a Proxmox host's guests give them, running or not.

A container names device files (`dev0: /dev/nvidia0`, `lxc.mount.entry: /dev/nvidia0 ...`) or device numbers
(`lxc.cgroup2.devices.allow: c 195:0 rwm`); `c 195:*` gives it every GPU of the host unless the files that it gets
narrow that. A VM names PCI devices (`hostpci0: 0000:01:00.0`, `01:00` for all functions, a list with `;`) or a cluster
mapping, which says for each host of the cluster what it stands for there; with `mdev=` it gets a slice of the device.
What a VM that runs or starts has taken stands in qemu-server's reservations besides (facts/recovery.md A0, A3).

Which guests there are, `pct list` and `qm list` say: they fail where the cluster file system is down, and then no
claim may be read as none. The configurations are read from their files, a second per guest faster than by the tools:
the part before the first `[section]` is what is in force, snapshots and pending values follow it.
"""

import re
from collections.abc import Iterator, Mapping

from fleetops.facts import pci
from fleetops.facts.nvidia_xml import short_bdf
from fleetops.facts.output import finished_lines
from fleetops.facts.proxmox import settings
from fleetops.facts.scripts import PLAIN_TEXT
from fleetops.model.command import Outcome, shell
from fleetops.model.fact import Absent, Fact, Unparsable
from fleetops.model.guest import CLAIMS, DeviceClaim, same_device

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
echo "node $(uname -n)"
if grep -qs '^hostpci.*mapping=' /etc/pve/qemu-server/*.conf && command -v pvesh >/dev/null; then
  mappings=$(pvesh get /cluster/mapping/pci --output-format json) && printf 'mappings %s\\n' "$mappings"
fi
if [ -r /run/qemu-server/pci-id-reservations ]; then
  while read -r address guest taken; do
    case $taken in
      pid:*) if [ -d "/proc/${taken#pid:}" ]; then echo "reserved $address $guest"; fi ;;
      time:*) if [ "${taken#time:}" -gt "$(date +%s)" ]; then echo "reserved $address $guest"; fi ;;
    esac
  done < /run/qemu-server/pci-id-reservations
fi
guests pct lxc /etc/pve/lxc
guests qm vm /etc/pve/qemu-server
echo end
"""
)

_GPU_FILE = re.compile(r"/dev/nvidia(\d+)")
_ALLOW = re.compile(r"c\s+195:(\d+|\*)\s")


def parse(outcome: Outcome) -> tuple[DeviceClaim, ...]:
    """By guest id. Raises Absent on a host without Proxmox, Unparsable where a guest's configuration is missing."""
    found = finished_lines(outcome)
    if "no pct" in found and "no qm" in found:
        raise Absent("neither pct nor qm is on this host")
    minors, mappings, reserved = _minors(found), pci.mappings(found), pci.reservations(found)
    claims = []
    for kind, guest_id, config in _configurations(found):
        if kind == "lxc":
            claims.append(DeviceClaim(guest_id=guest_id, kind=kind, minors=_container(config)))
        else:
            claims.append(_machine(guest_id, config, minors, mappings, reserved.get(guest_id, ())))
    return tuple(sorted(filter(_asks_for_any, claims), key=lambda claim: claim.guest_id))


def _asks_for_any(claim: DeviceClaim) -> bool:
    return claim.minors != () or bool(claim.addresses or claim.reserved or claim.unresolved)


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


def _machine(
    guest_id: int,
    config: list[str],
    minors: Mapping[str, int],
    mappings: Mapping[str, tuple[str, ...]],
    reserved: tuple[str, ...],
) -> DeviceClaim:
    """What a VM gets; of its minors, those that it would take from this host's driver: None where a mapping hides which."""
    known, _ = settings(config)
    devices = [
        pci.device(value, mappings) for key, value in known.items() if re.fullmatch(r"hostpci\d+", key)
    ]
    addresses = tuple(dict.fromkeys(one for device in devices for one in device.addresses))
    unresolved = tuple(device.unresolved for device in devices if device.unresolved)
    taken = {minor for bdf, minor in minors.items() for one in addresses if same_device(bdf, one)}
    return DeviceClaim(
        guest_id=guest_id,
        kind="vm",
        minors=None if unresolved else tuple(sorted(taken)),
        addresses=addresses,
        reserved=reserved,
        unresolved=unresolved,
        vgpu=any(device.vgpu for device in devices),
        display=any(device.display for device in devices),
    )


FACT: Fact[tuple[DeviceClaim, ...]] = Fact(CLAIMS, shell(SCRIPT, deadline_s=30.0, root=True), parse)
