"""qm start, stop, shutdown, reset and reboot, with their traps (facts: recovery, part A3).

Waits are a twentieth of Proxmox's own: the lab's VMs need no half hour to start.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from fleetops.lab import emulator, trouble
from fleetops.lab.driver import Driver
from fleetops.lab.spec import INIT_PID, LIBRARY, READY, python_command
from fleetops.lab.tools.proxmox import (
    Guest,
    ToolError,
    apply_pending,
    check_unlocked,
    file_lock,
    named_guest,
    option,
    rewrite,
    task,
    vm_pid_file,
)

_PACE = 0.05
_QUIT_S, _TERM_S, _KILL_S = 60.0, 10.0, 1.0
RESERVATIONS = Path("/run/qemu-server/pci-id-reservations")
_NOT_RESET = "failed to reset PCI device '{}', but trying to continue as not all devices need a reset"


def start(words: list[str]) -> int:
    """`qm start ID`: reset what is passed through, start kvm, and return: the guest boots by itself."""
    found = named_guest("qemu", words)
    if found.pid():
        raise ToolError(f"{found.short} already running")
    check_unlocked(found)
    with file_lock(found), task("qmstart", found.id):
        apply_pending(found)
        for device in _reset_devices(found):
            print(_NOT_RESET.format(device), file=sys.stderr)
        for left in (INIT_PID, READY):
            (found.folder / left).unlink(missing_ok=True)
        config = found.config()
        module = python_command(sys.executable, "fleetops.lab.emulator", str(LIBRARY))
        argv = [*module, str(found.id), found.name(), config.get("memory", "0")]
        if subprocess.run(argv, stdin=subprocess.DEVNULL, check=False, cwd="/").returncode:
            raise ToolError("start failed: QEMU exited with code 1")
        _reserve(found, passed_through(found))
    return 0


def passed_through(found: Guest) -> list[str]:
    """The PCI addresses of its hostpci entries, in the guest's order of GPUs."""
    entries = sorted(
        (key, value) for key, value in found.config().items() if re.fullmatch(r"hostpci\d+", key)
    )
    return [value.partition(",")[0] for _, value in entries]


def _reset_devices(found: Guest) -> list[str]:
    """Write 1 to each device's `reset` (PCI.pm, prepare_pci_device); the devices on which that failed."""
    driver = Driver(found.folder / "driver")
    minors = [gpu.minor for gpu in driver.gpus()]
    done = driver.reset(minors, stopped=["host"])
    return [device for minor, device in zip(minors, passed_through(found), strict=False) if minor not in done]


def _reserve(found: Guest, devices: list[str]) -> None:
    lines = RESERVATIONS.read_text().splitlines() if RESERVATIONS.exists() else []
    kept = [line for line in lines if line.split()[1] != str(found.id)]
    kept += [f"{device} {found.id} pid:{found.pid()}" for device in devices]
    rewrite(RESERVATIONS, "".join(f"{line}\n" for line in kept))


def stop(words: list[str]) -> int:
    """`qm stop ID [--timeout N]`: quit, then signals, then success, whatever became of kvm."""
    found = named_guest("qemu", words)
    if found.ha_state():
        print(f"Requesting HA stop for VM {found.id}")  # and HA, which the lab has not got, would see to it
        return 0
    if not found.pid():
        return 0
    if "--skiplock" not in words:
        check_unlocked(found)
    with file_lock(found), task("qmstop", found.id):
        _tell(found, "quit")
        _end_by_force(found, float(option(words, "timeout") or _QUIT_S))
    return 0


def shutdown(words: list[str]) -> int:
    """`qm shutdown ID [--timeout N] [--forceStop 1]`: ask the agent where it answers, else press the power button."""
    found = named_guest("qemu", words)
    check_unlocked(found)
    if not found.pid():
        raise ToolError(f"{found.short} not running")
    with file_lock(found), task("qmshutdown", found.id):
        _ask_guest(found)
        if not _wait(found, float(option(words, "timeout") or _QUIT_S)):
            if option(words, "forceStop") != "1":
                raise ToolError("VM quit/powerdown failed - got timeout")
            _end_by_force(found, 0.0)
        _clean_up(found)
    return 0


def reset(words: list[str]) -> int:
    """`qm reset ID`: QMP system_reset and nothing else: the devices are not reset, kvm stays the same process."""
    found = named_guest("qemu", words)
    check_unlocked(found)
    if not found.pid():
        raise ToolError(f"{found.short} not running")
    with file_lock(found), task("qmreset", found.id):
        _tell(found, "system_reset")
    return 0


def reboot(words: list[str]) -> int:
    """`qm reboot ID`: shutdown and start, which applies pending configuration."""
    shutdown(words)
    return start(words[:1])


def _ask_guest(found: Guest) -> None:
    from fleetops.lab.agent import AgentError, ask  # noqa: PLC0415 - only where it is asked

    try:
        ask(found.folder, "guest-shutdown")
    except (OSError, AgentError):
        emulator.ask(found.id, "system_powerdown")


def _tell(found: Guest, command: str) -> None:
    try:
        emulator.ask(found.id, command)
    except OSError:
        print("VM quit/powerdown failed - terminating now with SIGTERM", file=sys.stderr)
        _signal(found.pid(), signal.SIGTERM)


def _end_by_force(found: Guest, quit_s: float) -> None:
    pid = found.pid()
    if pid and not _wait(found, quit_s):
        print("VM still running - terminating now with SIGTERM", file=sys.stderr)
        _signal(pid, signal.SIGTERM)
        if not _wait(found, _TERM_S):
            print("VM still running - terminating now with SIGKILL", file=sys.stderr)
            if not trouble.has(
                found.folder, trouble.Mark.STOP_LIES
            ):  # which stands for a wait that no signal ends
                _signal(pid, signal.SIGKILL)
            time.sleep(_KILL_S * _PACE)
    _clean_up(found)


def _wait(found: Guest, limit_s: float) -> bool:
    """Whether kvm ended in time."""
    deadline = time.monotonic() + limit_s * _PACE
    while found.pid():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _signal(pid: int, number: signal.Signals) -> None:
    if pid:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return


def _clean_up(found: Guest) -> None:
    """vm_stop_cleanup: the pid file goes, so that the VM counts as stopped even where its kvm lives."""
    vm_pid_file(found.id).unlink(missing_ok=True)
    vm_pid_file(found.id).with_suffix(".qmp").unlink(missing_ok=True)
    if RESERVATIONS.exists():
        _reserve(found, [])
