"""What the lab's Proxmox commands share: guests and their configuration, locks, tasks.

Texts and forms are from Proxmox's sources as gathered in facts: recovery, parts A5, A6 and G.
"""

import contextlib
import fcntl
import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GUESTS = Path("/run/lab/guests")
VMS = Path("/run/lab/vms")
TASKS = Path("/run/lab/tasks")
FOLDERS = {"lxc": Path("/etc/pve/lxc"), "qemu": Path("/etc/pve/qemu-server")}
PENDING_HEADS = {"lxc": "[pve:pending]", "qemu": "[PENDING]"}
HA_RESOURCES = Path("/etc/pve/ha/resources.cfg")
LOCK_WAIT_S = 10.0
FAILED = 255
NO_FILE = 2  # Perl's die after a failed open gives errno

Command = Callable[[list[str]], int]
"""One subcommand: its words after the name -> the exit status."""


class ToolError(Exception):
    """What the command prints on stderr before it fails.

    Args:
        message: one line, without its newline.
        status: the exit status.
    """

    def __init__(self, message: str, status: int = FAILED) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Guest:
    """A guest of this host. `kind` is Proxmox's own word: lxc or qemu."""

    kind: str
    id: int

    @property
    def file(self) -> Path:
        """Its configuration."""
        return FOLDERS[self.kind] / f"{self.id}.conf"

    @property
    def folder(self) -> Path:
        """The guest's run folder, which is the lab's own."""
        return (GUESTS if self.kind == "lxc" else VMS) / str(self.id)

    @property
    def short(self) -> str:
        """What Proxmox calls it in a message: `CT 174`, `VM 181`."""
        return f"{'CT' if self.kind == 'lxc' else 'VM'} {self.id}"

    def config(self) -> dict[str, str]:
        """What is in force: the lines before the first section."""
        return _pairs(self.file.read_text().partition("\n[")[0])

    def pending(self) -> dict[str, str]:
        """What the next start puts in force: the lines of that section; `delete` names keys that go."""
        head = PENDING_HEADS[self.kind]
        return _pairs(self.file.read_text().partition(f"\n{head}\n")[2].partition("\n[")[0])

    def pid(self) -> int:
        """Its first process (of a VM: the emulator's) as this host counts; 0 where it does not run."""
        path = self.folder / "init.pid" if self.kind == "lxc" else vm_pid_file(self.id)
        try:
            pid = int(path.read_text())
        except (FileNotFoundError, ValueError):
            return 0
        return pid if Path(f"/proc/{pid}").exists() else 0

    def status(self) -> str:
        """`running` or `stopped`."""
        return "running" if self.pid() else "stopped"

    def lock(self) -> str:
        """Proxmox's lock on the configuration (backup, snapshot, ...), or ""."""
        return self.config().get("lock", "")

    def name(self) -> str:
        """As Proxmox lists it."""
        config = self.config()
        return config.get("hostname") or config.get("name") or ""

    def ha_state(self) -> str:
        """What high availability is asked to keep it in, "" where that does not manage it."""
        if not HA_RESOURCES.exists():
            return ""
        head = f"{'ct' if self.kind == 'lxc' else 'vm'}: {self.id}"
        words = HA_RESOURCES.read_text().partition(f"{head}\n")[2].partition("\n\n")[0].split()
        return words[words.index("state") + 1] if "state" in words else ""


def _pairs(text: str) -> dict[str, str]:
    pairs = (line.partition(": ") for line in text.splitlines() if ": " in line)
    return {key: value for key, _, value in pairs}


def vm_pid_file(number: int) -> Path:
    """Where qemu-server keeps a VM's pid."""
    return Path(f"/run/qemu-server/{number}.pid")


def guests(kind: str) -> list[Guest]:
    """All guests of one kind on this host, by id."""
    return [Guest(kind, number) for number in sorted(int(path.stem) for path in FOLDERS[kind].glob("*.conf"))]


def guest(kind: str, number: str) -> Guest:
    """One guest. Raises ToolError as Proxmox words it."""
    found = Guest(kind, int(number)) if number.isdecimal() else None
    if found is None or not found.file.exists():
        folder = "lxc" if kind == "lxc" else "qemu-server"
        path = f"nodes/{node()}/{folder}/{number}.conf"
        raise ToolError(f"Configuration file '{path}' does not exist", NO_FILE)
    return found


def named_guest(kind: str, words: list[str]) -> Guest:
    """The guest that the first of a subcommand's words names. Raises ToolError."""
    if not words:
        raise ToolError("400 not enough arguments")
    return guest(kind, words[0])


def show_status(kind: str, words: list[str]) -> int:
    """`pct status ID`, `qm status ID`."""
    print(f"status: {named_guest(kind, words).status()}")
    return 0


def show_pending(kind: str, words: list[str]) -> int:
    """`pct pending ID`, `qm pending ID`: each key with what it is and what it will be (format_pending)."""
    found = named_guest(kind, words)
    now, later = found.config(), found.pending()
    going = later.pop("delete", "").split(",")
    for key in sorted({*now, *later}):
        if key in now:
            print(f"{'del' if key in going else 'cur'} {key}: {now[key]}")
        if key in later:
            print(f"new {key}: {later[key]}")
    return 0


def apply_pending(found: Guest) -> None:
    """What a start does before anything else: pending values are in force from here on."""
    later = found.pending()
    if not later:
        return
    going = later.pop("delete", "").split(",")
    now = {key: value for key, value in found.config().items() if key not in going} | later
    rewrite(found.file, "".join(f"{key}: {value}\n" for key, value in sorted(now.items())))


def rewrite(path: Path, text: str) -> None:
    """Replace a file at once."""
    fresh = path.with_name(f".{path.name}")
    fresh.write_text(text)
    fresh.rename(path)


def option(words: list[str], name: str) -> str | None:
    """The value of `--name VALUE`, in Proxmox's spellings of it."""
    for spelling in (f"--{name}", f"-{name}"):
        if spelling in words[:-1]:
            return words[words.index(spelling) + 1]
        for word in words:
            if word.startswith(f"{spelling}="):
                return word.partition("=")[2]
    return None


def run_tool(tool: str, commands: Mapping[str, Command], words: list[str]) -> int:
    """Run `tool` with these words; the exit status."""
    command, *rest = words or ["help"]
    if command not in commands:
        print(f"ERROR: unknown command '{tool} {' '.join(words)}'", file=sys.stderr)
        return FAILED
    try:
        return commands[command](rest)
    except ToolError as error:
        print(error, file=sys.stderr)
        return error.status


def node() -> str:
    """This host's name in its cluster."""
    return socket.gethostname()


def check_unlocked(found: Guest) -> None:
    """Raises ToolError where a task has locked the configuration."""
    if lock := found.lock():
        raise ToolError(f"{'CT' if found.kind == 'lxc' else 'VM'} is locked ({lock})")


def lock_path(found: Guest) -> Path:
    """The file that is locked (PVE::LXC::Config and PVE::QemuConfig, cfs_config_path's neighbours)."""
    if found.kind == "lxc":
        return Path(f"/run/lock/lxc/pve-config-{found.id}.lock")
    return Path(f"/var/lock/qemu-server/lock-{found.id}.conf")


@contextlib.contextmanager
def file_lock(found: Guest) -> Iterator[None]:
    """The lock that every changing command holds while it works. Raises ToolError after ten seconds."""
    path = lock_path(found)
    path.parent.mkdir(parents=True, exist_ok=True)
    waited = False
    with path.open("w") as file:
        deadline = time.monotonic() + LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not waited:
                    print("trying to acquire lock...", file=sys.stderr)
                    waited = True
                if time.monotonic() > deadline:
                    raise ToolError(f"can't lock file '{path}' - got timeout") from None
                time.sleep(0.05)
        yield


@contextlib.contextmanager
def task(kind: str, number: int) -> Iterator[None]:
    """A Proxmox task while it runs and, with its outcome, afterwards."""
    started = time.time()
    pid = os.getpid()
    upid = f"UPID:{node()}:{pid:08X}:{int(started * 100) & 0xFFFFFFFF:08X}:{int(started):08X}:{kind}:{number}:root@pam:"
    record: dict[str, Any] = {
        "upid": upid,
        "node": node(),
        "pid": pid,
        "pstart": int(started * 100) & 0xFFFFFFFF,
        "starttime": int(started),
        "type": kind,
        "id": str(number),
        "user": "root@pam",
    }
    path = TASKS / f"{upid.replace('/', '_')}.json"
    _write(path, record)
    status = "OK"
    try:
        yield
    except BaseException as error:
        status = str(error) or type(error).__name__
        raise
    finally:
        _write(path, record | {"endtime": int(time.time()), "status": status})


def tasks() -> list[dict[str, Any]]:
    """All tasks on record, running ones first, then the newest first."""
    found = [_ended(json.loads(path.read_text())) for path in TASKS.glob("[!.]*.json")]
    return sorted(found, key=lambda each: ("endtime" in each, -each["starttime"], -each["pstart"]))


def _ended(record: dict[str, Any]) -> dict[str, Any]:
    """A task whose process is gone without a word has ended (PVE::ProcFSTools, read at the next look)."""
    if "endtime" in record or Path(f"/proc/{record['pid']}").exists():
        return record
    return record | {"endtime": int(time.time()), "status": "unexpected status"}


def _write(path: Path, record: dict[str, Any]) -> None:
    rewrite(path, json.dumps(record))
