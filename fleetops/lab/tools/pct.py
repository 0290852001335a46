"""pct: Proxmox's container tool, acting on the lab's own containers."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

from fleetops.lab import trouble
from fleetops.lab.spec import LIBRARY, python_command
from fleetops.lab.tools.proxmox import (
    Command,
    Guest,
    ToolError,
    apply_pending,
    check_unlocked,
    file_lock,
    guests,
    named_guest,
    option,
    run_tool,
    show_pending,
    show_status,
    task,
)

SHUTDOWN_S = 60.0
START_S = 20.0
NAMESPACES = ("--user", "--preserve-credentials", "--mount", "--pid", "--ipc", "--uts", "--net", "--cgroup")


def main(words: list[str]) -> int:
    """Run with the words after the command's name."""
    return run_tool("pct", COMMANDS, words)


def show_list(_: list[str]) -> int:
    """`pct list`: nothing at all where there is no container."""
    found = guests("lxc")
    if found:
        print(f"{'VMID':<10} {'Status':<10} {'Lock':<12} {'Name':<20}")
    for each in found:
        print(f"{each.id:<10} {each.status():<10} {each.lock():<12} {each.name():<20}")
    return 0


def show_config(words: list[str]) -> int:
    """`pct config ID [--current 1]`: sorted keys, the raw lxc.* lines last."""
    found = _guest(words)
    text = found.file.read_text().partition("\n[")[0]
    later = {} if option(words, "current") == "1" else found.pending()
    lines = [line for line in text.splitlines() if line.strip() and line.partition(": ")[0] not in later]
    lines += [f"{key}: {value}" for key, value in later.items() if key != "delete"]
    raw = [line for line in lines if line.startswith("lxc.")]
    print("\n".join(sorted(set(lines) - set(raw)) + raw))
    return 0


def execute(words: list[str]) -> int:
    """`pct exec ID -- COMMAND`: becomes the command, as lxc-attach does, so its status is the command's."""
    found = _guest(words)
    command = words[2:] if words[1:2] == ["--"] else words[1:]
    pid = found.pid()
    if not pid:
        raise ToolError(f"container '{found.id}' not running!")
    if not command:
        raise ToolError("400 not enough arguments")
    argv = ["nsenter", "--target", str(pid), *NAMESPACES, "--", *command]
    os.execvp(argv[0], argv)  # noqa: S606 - an argv, no shell


def start(words: list[str]) -> int:
    """`pct start ID`: lxc-start as a daemon, until its init has booted."""
    found = _guest(words)
    check_unlocked(found)
    if found.pid():
        raise ToolError(f"CT {found.id} already running")
    with file_lock(found), task("vzstart", found.id):
        apply_pending(found)
        folder = found.folder
        (folder / "ready").unlink(missing_ok=True)
        monitor = subprocess.Popen(
            [*python_command(sys.executable, "fleetops.lab.host", str(LIBRARY)), str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
        )
        deadline = time.monotonic() + START_S
        while not (folder / "ready").exists():
            if monitor.poll() is not None or time.monotonic() > deadline:
                raise ToolError(f"startup for container '{found.id}' failed")
            time.sleep(0.02)
    return 0


def stop(words: list[str]) -> int:
    """`pct stop ID`: lxc-stop --kill, which waits without limit for what a signal cannot end."""
    found = _guest(words)
    if found.ha_state():
        print(f"Requesting HA stop for CT {found.id}")  # and HA, which the lab has not got, would see to it
        return 0
    if "--skiplock" not in words:
        check_unlocked(found)
    if not found.pid():
        raise ToolError(f"CT {found.id} not running")
    with file_lock(found), task("vzstop", found.id):
        _end(found, signal.SIGKILL, None)
    return 0


def shutdown(words: list[str]) -> int:
    """`pct shutdown ID [--timeout N] [--forceStop 1]`."""
    found = _guest(words)
    check_unlocked(found)
    if not found.pid():
        raise ToolError(f"CT {found.id} not running")
    with file_lock(found), task("vzshutdown", found.id):
        if not _end(found, signal.SIGPWR, float(option(words, "timeout") or SHUTDOWN_S)):
            if option(words, "forceStop") != "1":
                raise ToolError("container did not stop")
            _end(found, signal.SIGKILL, None)
    return 0


def reboot(words: list[str]) -> int:
    """`pct reboot ID`: shutdown, at its deadline a kill, then start."""
    shutdown([*words, "--forceStop", "1"])
    return start(words[:1])


def _end(found: Guest, number: signal.Signals, limit_s: float | None) -> bool:
    """Signal the container's init and wait until it and all that it held are gone."""
    pid = found.pid()
    blocks = trouble.has(
        found.folder, trouble.Mark.STOP_BLOCKS
    )  # for a process in the kernel that nothing ends
    if not blocks:
        os.kill(pid, number)
    elif number is signal.SIGKILL:
        _end_all_but_init(found)
    deadline = None if limit_s is None else time.monotonic() + limit_s
    while blocks or Path(f"/proc/{pid}").exists() or (found.folder / "init.pid").exists():
        if deadline is not None and time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _end_all_but_init(found: Guest) -> None:
    """What a kill does that a process in the kernel holds up: the rest is gone, the first process cannot be reaped."""
    init = found.pid()
    trouble.put(found.folder, trouble.Mark.DEAD)
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            inside = (process / "ns/pid").readlink() == Path(f"/proc/{init}/ns/pid").readlink()
            if inside and int(process.name) != init:
                os.kill(int(process.name), signal.SIGKILL)


_guest = partial(named_guest, "lxc")

COMMANDS: dict[str, Command] = {
    "list": show_list,
    "status": partial(show_status, "lxc"),
    "config": show_config,
    "pending": partial(show_pending, "lxc"),
    "exec": execute,
    "start": start,
    "stop": stop,
    "shutdown": shutdown,
    "reboot": reboot,
}
