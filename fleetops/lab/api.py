"""Bring a lab up and down, look at it, break a node of it: what `fleetops lab` and the tests call."""

import compileall
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fleetops.lab.breakages import breakage
from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.control import HostDown, init_pid
from fleetops.lab.fleet import FLEET, LabHost, lab_host
from fleetops.lab.history import record_history
from fleetops.lab.paths import Layout
from fleetops.lab.privilege import LabUnavailable, check_machine, gives_up_root, lab_owner
from fleetops.lab.process import REFUSAL, LabProcess, lab_process
from fleetops.lab.wheel import provide, read_tree
from fleetops.model.errors import FleetopsError, UsageError

KINDS = {"lxc": "a container", "vm": "a virtual machine", "bare": "bare metal"}
_UP_S = 60.0
_LOOK_S = 0.02


class LabFailed(FleetopsError):  # noqa: N818 - named for what the user reads
    """The lab did not come up, or did not go down."""

    kind = "lab-failed"


@dataclass(frozen=True)
class HostStatus:
    """One host of a lab.

    Attributes:
        engine: what of an engine is there (`9 processes`), "" where nothing is.
        broken: how it was broken last, "" where it never was.
    """

    name: str
    kind: str
    port: int
    running: bool
    engine: str
    broken: str


@dataclass(frozen=True)
class Lab:
    """A lab that is up."""

    folder: Path
    ports: dict[str, int]

    @property
    def inventory(self) -> Path:
        """What to give to `--inventory`."""
        return Layout(self.folder).inventory

    @property
    def known_hosts(self) -> Path:
        """The host keys, as an SSH client verifies them."""
        return Layout(self.folder).ssh / "known_hosts"

    @property
    def identity(self) -> Path:
        """The private key that every host lets in as root."""
        return Layout(self.folder).ssh / "id_ed25519"


def up(folder: Path, *, bound: bool = False) -> Lab:
    """The lab in `folder`, brought up where it is not yet. Returns when every host answers.

    A `bound` lab ends with the calling process, in whatever way that ends.

    Raises LabUnavailable where the machine forbids it, UsageError where the folder cannot be used, LabFailed with
    what the supervisor said otherwise.
    """
    with _usable(folder):
        running = lab_process(folder)
    if running and running.is_alive:
        return _await(folder, running)
    check_machine()
    with _usable(folder):
        _claim(folder)
    # Nobody in the lab may write beside the modules, and each of its tools would compile them anew each time.
    compileall.compile_dir(Path(__file__).parent, quiet=2)
    provide(Layout(folder).share, os.environ)
    lab = _await(folder, _start(folder, bound=bound))
    record_history(Layout(folder).state)
    return lab


def down(folder: Path) -> bool:
    """End the lab in `folder` and remove it; whether there was one. Raises UsageError, LabFailed."""
    with _usable(folder):
        if not folder.exists():
            return False
        _check_ours(folder)
        process = lab_process(folder)
    try:
        if process:
            process.end()
    except TimeoutError as error:
        raise LabFailed(
            f"the lab in {folder} does not end: {error}", hint="run `fleetops lab down` again"
        ) from None
    shutil.rmtree(folder)
    return True


def find(folder: Path) -> Lab | None:
    """The lab in `folder` if it is up. Raises UsageError where that cannot be told."""
    with _usable(folder):
        process = lab_process(folder)
        record = Layout(folder).record
        if not (process and process.is_alive and record.exists()):
            return None
        return Lab(folder, json.loads(record.read_text())["ports"])


def status(folder: Path) -> list[HostStatus]:
    """Every host of the lab in `folder`. Raises UsageError where it is not up."""
    lab = _require(folder)
    broken = broken_nodes(folder)
    return [_status(lab, host, broken.get(host.name, "")) for host in FLEET]


def _status(lab: Lab, host: LabHost, broken: str) -> HostStatus:
    engine = ""
    try:
        running = init_pid(Layout(lab.folder), host) > 0
        if host.engine:
            count = len(BrokenNode(lab.folder, host.name).look())
            engine = f"{count} processes" if count else ""
    except HostDown:
        running = False
    return HostStatus(host.name, host.kind, lab.ports[host.name], running, engine, broken)


def remark(folder: Path) -> str:
    """What a user of the lab in `folder` should know of its engine's source; "" where it is the real one."""
    tree = read_tree(Layout(folder).share)
    return "" if tree.real else f"the engine's source is a small stand-in: {tree.note}"


def break_node(folder: Path, node: str, kind: str) -> None:
    """Break a node in one of the ways of `breakages/`. Raises UsageError, also where that cannot happen to it."""
    _require(folder)
    if node not in {host.name for host in FLEET if host.kind != "hypervisor"}:
        nodes = ", ".join(host.name for host in FLEET if host.kind != "hypervisor")
        raise UsageError(f"the lab has no node {node}", hint=f"its nodes: {nodes}")
    how = breakage(kind)
    if lab_host(node).kind not in how.platforms:
        can = ", ".join(host.name for host in FLEET if host.kind in how.platforms)
        raise UsageError(
            f"{kind} cannot happen to {node}, which is {KINDS[lab_host(node).kind]}",
            hint=f"it can on {can}; fleetops lab break --list {kind} tells what it is",
        )
    how.apply(folder, node)
    (Layout(folder).breakages / node).write_text(kind)


def broken_nodes(folder: Path) -> dict[str, str]:
    """Which nodes were broken, and how."""
    return {path.name: path.read_text() for path in sorted(Layout(folder).breakages.glob("*"))}


def _require(folder: Path) -> Lab:
    lab = find(folder)
    if lab is None:
        raise UsageError(f"no lab is up in {folder}", hint="fleetops lab up")
    return lab


@contextmanager
def _usable(folder: Path) -> Iterator[None]:
    """A folder that may not be entered, made or written is a UsageError that names it."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"the lab cannot use the folder {folder}: {error.strerror}",
            hint="set FLEETOPS_LAB to a place where you may make a folder, or unset it",
        ) from error


def _claim(folder: Path) -> None:
    """An empty folder of the lab's own. Whatever a dead lab left there goes. Raises UsageError."""
    if folder.exists():
        _check_ours(folder)
        shutil.rmtree(folder)
    folder.mkdir(mode=0o700, parents=True)
    os.chown(folder, lab_owner(), lab_owner() if gives_up_root() else -1)


def _check_ours(folder: Path) -> None:
    """Refuse to take over or to remove a folder that no lab made."""
    if folder.is_symlink() or folder.stat().st_uid not in (lab_owner(), os.geteuid()):
        raise UsageError(
            f"{folder} belongs to somebody else", hint="set FLEETOPS_LAB to a folder of your own"
        )
    if not lab_process(folder) and not Layout(folder).log.exists() and any(folder.iterdir()):
        raise UsageError(
            f"{folder} holds something that is not a lab", hint="set FLEETOPS_LAB to another folder"
        )


def _start(folder: Path, *, bound: bool = False) -> LabProcess:
    layout = Layout(folder)
    lifeline = _new_lifeline() if bound else ()
    with layout.log.open("wb") as log:
        supervisor = subprocess.run(
            [sys.executable, "-P", "-m", "fleetops.lab.supervisor", str(folder), *map(str, lifeline)],
            pass_fds=lifeline,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            check=False,
            cwd="/",
            env=_environment(),
        )
    for descriptor in lifeline:
        os.close(descriptor)
    process = lab_process(folder)
    if supervisor.returncode or process is None:
        raise _failure(layout)
    return process


def _new_lifeline() -> tuple[int]:
    """A pipe's reading end. The writing end stays open, and nowhere else, until this process ends."""
    reading, _ = os.pipe()
    return (reading,)


def _environment() -> dict[str, str]:
    """Nothing of the caller's but the way to this package and its libraries: the lab must not depend on it."""
    package = Path(__file__).resolve().parent.parent
    libraries = [str(package.parent), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    path = os.environ.get("PATH", os.defpath)
    return {"PATH": path, "LANG": "C.UTF-8", "PYTHONPATH": os.pathsep.join(libraries)}


def _await(folder: Path, process: LabProcess) -> Lab:
    deadline = time.monotonic() + _UP_S
    while time.monotonic() < deadline:
        if lab := find(folder):
            return lab
        if not process.is_alive:
            raise _failure(Layout(folder))
        time.sleep(_LOOK_S)
    process.end()
    raise _failure(Layout(folder))


def _failure(layout: Layout) -> FleetopsError:
    refusal = layout.folder / REFUSAL
    if refusal.exists():
        told = json.loads(refusal.read_text())
        return LabUnavailable(told["message"], hint=told["hint"])
    said = _last(layout.log.read_text(errors="replace").splitlines())
    return LabFailed(f"the lab did not come up: {said}", hint=f"its log: {layout.log}")


def _last(lines: Iterable[str]) -> str:
    told = [line.strip() for line in lines if line.strip()]
    return told[-1] if told else "its supervisor ended without a word"
