"""What else must hold after the recovery from one or another breakage, beyond what holds for all."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fleetops.lab.breakages.port_held import is_listened_on
from fleetops.lab.breakages.respawning import SCRIPT
from fleetops.lab.breakages.shm import living_segments
from recovery_matrix.bench import Bench

Told = tuple[bool, str, str]


@dataclass(frozen=True)
class Also:
    """Something that is noted before the recovery, and looked at after it: whether it holds, and either way in words."""

    after: Callable[[Bench, str, Any], Told]
    before: Callable[[Bench, str], Any] = lambda _bench, _node: None


def _living_segments(bench: Bench, node: str) -> list[str]:
    return sorted(living_segments(bench.node(node)))


def _segments_stay(bench: Bench, node: str, before: list[str]) -> Told:
    same = len(before) == 2 and _living_segments(bench, node) == before
    return same, "the living owner's 2 segments stay", "segments of a living owner are gone"


def _stranger_stays(bench: Bench, node: str, _before: None) -> Told:
    return is_listened_on(bench.node(node)), "the stranger still listens", "the stranger was ended"


def _no_loop(bench: Bench, node: str, _before: None) -> Told:
    left = f"sh {SCRIPT}" in bench.node(node).run("ps", "-eo", "args")
    return not left, "the loop is gone", "the loop still runs"


def _persistence(bench: Bench, node: str) -> str:
    host = bench.node(node).host
    where = host.hypervisor if host.kind == "lxc" else ""
    asked = ("nvidia-smi", "--query-gpu=uuid,persistence_mode", "--format=csv,noheader")
    daemons = bench.node(node).run("sh", "-c", "pgrep -c nvidia-persiste || true", host=where)
    return bench.node(node).run(*asked, host=where) + daemons


def _persistence_restored(bench: Bench, node: str, before: str) -> Told:
    same = _persistence(bench, node) == before
    return same, "persistence mode and daemon as before", f"was {before!r}, is {_persistence(bench, node)!r}"


def _still_locked(bench: Bench, node: str, _before: None) -> Told:
    host = bench.node(node).host
    tool = "pct" if host.kind == "lxc" else "qm"
    told = bench.node(node).run(tool, "config", str(host.guest_id), host=host.hypervisor)
    return "lock: backup" in told, "the backup goes on", "the backup's lock is gone"


def _one_hangs(bench: Bench, node: str, _before: None) -> Told:
    """Where the driver was restarted with its machine none is left."""
    host = bench.node(node).host
    where = host.hypervisor if host.kind == "lxc" else ""
    told = bench.node(node).run("ps", "-eo", "stat,args", host=where).splitlines()
    hanging = [line for line in told if line.startswith("D") and "nvidia-smi" in line]
    return len(hanging) <= 1, f"{len(hanging)} nvidia-smi in D", f"{len(hanging)} nvidia-smi are in D"


def _boots(bench: Bench, node: str) -> str:
    """What is new each time the guest starts."""
    return bench.node(node).run("stat", "-c", "%y", "/proc/1")


def _not_restarted(bench: Bench, node: str, before: str) -> Told:
    return _boots(bench, node) == before, "the guest runs on", "the guest was restarted"


ALSO: dict[str, Also] = {
    "shm": Also(before=_living_segments, after=_segments_stay),
    "port-held": Also(after=_stranger_stays),
    "respawning": Also(after=_no_loop),
    "reset-in-use": Also(before=_persistence, after=_persistence_restored),
    "guest-locked": Also(after=_still_locked),
    "lock-file-timeout": Also(before=_boots, after=_not_restarted),
    "ha-managed": Also(before=_boots, after=_not_restarted),
    "nvidia-smi-hangs": Also(after=_one_hangs),
}
