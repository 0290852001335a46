"""What a VM's `hostpciN` line means: addresses in the kernel's form, cluster mappings resolved, vGPU told apart.

Sources: pve-docs qm-pci-passthrough.adoc; qemu-server PCI.pm; `pvesh get /cluster/mapping/pci`, whose entries are
`node=pve-01,path=0000:01:00.0;0000:01:00.1,id=10de:2335,...`, one for each device that a host offers under that name.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

_ADDRESS = re.compile(r"(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-7])?", re.IGNORECASE)


@dataclass(frozen=True)
class PciDevice:
    """One `hostpciN`. `unresolved` is what nothing tells the addresses of, in the configuration's own words."""

    addresses: tuple[str, ...]
    unresolved: str
    vgpu: bool
    display: bool


def device(value: str, mappings: Mapping[str, tuple[str, ...]]) -> PciDevice:
    """The value of one `hostpciN` line. A mapping may stand for any of its host's devices, so all of them count."""
    first, *others = value.split(",")
    words = [first if "=" in first else f"host={first}", *others]
    options = dict(word.split("=", 1) for word in words if "=" in word)
    named = options.get("mapping")
    addresses = mappings.get(named, ()) if named else tuple(_addresses(options.get("host", "")))
    return PciDevice(
        addresses=addresses,
        unresolved="" if addresses else f"mapping={named}" if named else value,
        vgpu="mdev" in options,
        display=options.get("x-vga") == "1",
    )


def mappings(found: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Mapping name -> what it stands for on this host; without the cluster's answer none is known."""
    lines = list(found)
    node = next((line.split()[1] for line in lines if line.startswith("node ")), "").partition(".")[0]
    told = next((line.removeprefix("mappings ") for line in lines if line.startswith("mappings ")), "[]")
    known: dict[str, tuple[str, ...]] = {}
    for mapping in json.loads(told):
        entries = [dict(part.split("=", 1) for part in text.split(",")) for text in mapping["map"]]
        here = [entry.get("path", "") for entry in entries if entry.get("node") == node]
        known[mapping["id"]] = tuple(dict.fromkeys(one for path in here for one in _addresses(path)))
    return known


def reservations(found: Iterable[str]) -> dict[int, tuple[str, ...]]:
    """Guest id -> the devices that it has taken, or is about to."""
    taken: dict[int, tuple[str, ...]] = {}
    for line in found:
        if match := re.fullmatch(r"reserved (\S+) (\d+)", line):
            taken[int(match[2])] = (*taken.get(int(match[2]), ()), *_addresses(match[1]))
    return taken


def _addresses(text: str) -> Iterator[str]:
    """The devices of a `;` list, with their domain; nothing at all where one of them is of another form."""
    devices = text.lower().split(";")
    if all(map(_ADDRESS.fullmatch, devices)):
        yield from (one if one.count(":") == 2 else f"0000:{one}" for one in devices)
