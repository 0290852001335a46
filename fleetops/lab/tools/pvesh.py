"""pvesh get: the part of Proxmox's API that tells about guests, tasks and versions."""

import json
import re
import sys
from pathlib import Path
from typing import Any

from fleetops.lab.tools.proxmox import Guest, ToolError, guest, guests, node, option, tasks
from fleetops.lab.tools.pveversion import VERSION

TYPES = {"lxc": "lxc", "qemu": "qemu"}


def main(words: list[str]) -> int:
    """Run with the words after the command's name."""
    try:
        answer = _get(words)
    except ToolError as error:
        print(error, file=sys.stderr)
        return error.status
    print(json.dumps(answer) if option(words, "output-format") == "json" else json.dumps(answer, indent=3))
    return 0


def _get(words: list[str]) -> Any:
    if len(words) < 2 or words[0] != "get":
        raise ToolError("the lab's pvesh only knows `get`")
    path = re.sub(r"^/nodes/localhost(?=/|$)", f"/nodes/{node()}", "/" + words[1].strip("/"))
    if path == "/cluster/resources":
        return [*_resources()] if option(words, "type") in {None, "vm"} else []
    if path == "/version":
        return {"release": VERSION.rpartition(".")[0], "repoid": "dc9f8a1c", "version": VERSION}
    if path == "/nodes":
        return [{"node": node(), "status": "online", "type": "node", "id": f"node/{node()}"}]
    if path == f"/nodes/{node()}/tasks":
        return _tasks(words)
    if match := re.fullmatch(
        rf"/nodes/{re.escape(node())}/(lxc|qemu)(?:/(\d+)/(status/current|config))?", path
    ):
        return _of_guest(*match.groups())
    raise ToolError(f"No '{words[0]}' handler defined for '{words[1]}'")


def _of_guest(kind: str, number: str | None, what: str | None) -> Any:
    if number is None:
        return [_status(each) for each in guests(kind)]
    found = guest(kind, number)
    return _status(found) if what == "status/current" else found.config()


def _resources() -> list[dict[str, Any]]:
    found = [*guests("lxc"), *guests("qemu")]
    extra = {"template": 0, "node": node()}
    return [_status(each) | extra | {"id": f"{each.kind}/{each.id}", "type": each.kind} for each in found]


def _status(found: Guest) -> dict[str, Any]:
    config = found.config()
    told: dict[str, Any] = {
        "vmid": found.id,
        "name": found.name(),
        "status": found.status(),
        "maxmem": int(config.get("memory", "0")) * 2**20,
        "maxcpu": int(config.get("cores", "1")),
        "uptime": _uptime(found.pid()),
    }
    if found.lock():
        told["lock"] = found.lock()
    if found.ha_state():
        told["hastate"] = found.ha_state()
    return told


def _uptime(pid: int) -> int:
    if not pid:
        return 0
    started = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]) / 100
    return int(float(Path("/proc/uptime").read_text().split()[0]) - started)


def _tasks(words: list[str]) -> list[dict[str, Any]]:
    """`--source active` tells what runs, and what has only just ended; the default is the archive."""
    source = option(words, "source") or "archive"
    wanted = option(words, "vmid")
    found = [each for each in tasks() if wanted in {None, each["id"]}]
    if source == "archive":
        return [each for each in found if "endtime" in each]
    return found
