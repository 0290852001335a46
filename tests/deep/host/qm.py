#!/usr/bin/python3
"""qm, as far as it is asked here: thin over `kvm`, in the forms, exit codes, waits and locks of qemu-server."""

import contextlib
import fcntl
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path("/etc/pve/qemu-server")
RESERVATIONS = Path("/run/qemu-server/pci-id-reservations")
SCOPES = "/sys/fs/cgroup/*/qemu.slice/{}.scope"
LOCK_S, QUIT_S, TERM_S, KILL_S, PING_S, START_S = 10.0, 60.0, 10.0, 1.0, 3.0, 30.0


def die(message: str, status: int = 255) -> None:
    print(message, file=sys.stderr)
    sys.exit(status)


def config(number: str) -> dict[str, str]:
    """What is in force: the lines before the first section."""
    path = FOLDER / f"{number}.conf"
    if not path.exists():
        die(f"Configuration file 'nodes/{os.uname().nodename}/qemu-server/{number}.conf' does not exist", 2)
    pairs = (line.partition(": ") for line in path.read_text().partition("\n[")[0].splitlines())
    return {key: value for key, _, value in pairs if value}


def pid_of(number: str) -> int:
    """The emulator's, 0 where there is none."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        pid = int(Path(f"/run/qemu-server/{number}.pid").read_text())
        return pid if Path(f"/proc/{pid}").exists() else 0
    return 0


def status(number: str) -> str:
    return "running" if pid_of(number) else "stopped"


def option(words: list[str], name: str, default: str) -> str:
    return words[words.index(name) + 1] if name in words[:-1] else default


@contextlib.contextmanager
def locked(number: str):
    """Refused while a task has locked the configuration; then the lock that every change holds."""
    if lock := config(number).get("lock"):
        die(f"VM is locked ({lock})")
    path = Path(f"/var/lock/qemu-server/lock-{number}.conf")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        deadline, waits = time.monotonic() + LOCK_S, False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not waits:
                    print("trying to acquire lock...", file=sys.stderr)
                    waits = True
                if time.monotonic() > deadline:
                    die(f"can't lock file '{path}' - got timeout")
                time.sleep(0.05)
        yield


def show_list() -> None:
    numbers = sorted(path.stem for path in FOLDER.glob("*.conf"))
    if numbers:
        show_row("VMID", "NAME", "STATUS", "MEM(MB)", "BOOTDISK(GB)", "PID")
    for each in numbers:
        told = config(each)
        show_row(each, told["name"], status(each), told["memory"], "32.00", str(pid_of(each)))


def show_row(*cells: str) -> None:
    print("{:>10} {:<20} {:<10} {:<10} {:>12} {:<10}".format(*cells))


def passed_through(number: str) -> list[str]:
    told = config(number)
    return [told[key].partition(",")[0] for key in sorted(told) if re.fullmatch(r"hostpci\d+", key)]


def reserve(number: str, devices: list[str]) -> None:
    lines = RESERVATIONS.read_text().splitlines() if RESERVATIONS.exists() else []
    kept = [line for line in lines if line.split()[1] != number]
    kept += [f"{device} {number} pid:{pid_of(number)}" for device in devices]
    RESERVATIONS.write_text("".join(f"{line}\n" for line in kept))


def start(number: str) -> None:
    """The devices are reset, then the emulator starts; the machine boots by itself."""
    told = config(number)
    if pid_of(number):
        die(f"VM {number} already running")
    with locked(number):
        hardware = Path(f"/run/deep/{number}")
        (hardware / "held").unlink(missing_ok=True)
        with (hardware / "resets").open("a") as log:
            log.writelines(f"{time.time()} {device}\n" for device in passed_through(number))
        for scope in Path("/").glob(SCOPES.format(number).lstrip("/")):
            for each in (*sorted(filter(Path.is_dir, scope.rglob("*")), reverse=True), scope):
                each.rmdir()  # left by an emulator that was killed, as systemd would not leave it
        with Path(f"/run/kvm-{number}.out").open("w") as said:
            words = ["/usr/bin/kvm", "-id", number, "-name", told["name"], "-m", told["memory"]]
            null = subprocess.DEVNULL
            emulator = subprocess.Popen(words, stdin=null, stdout=said, stderr=said, start_new_session=True)
        deadline = time.monotonic() + START_S
        while not pid_of(number):
            if emulator.poll() is not None or time.monotonic() > deadline:
                die(f"start failed: QEMU exited with code {emulator.poll()}")
            time.sleep(0.02)
        reserve(number, passed_through(number))


def stop(number: str, words: list[str]) -> None:
    """`quit`, then signals, then success, whatever became of the emulator."""
    pid = pid_of(number)
    if not pid:
        return
    with locked(number):
        try:
            with socket.socket(socket.AF_UNIX) as qmp:
                qmp.settimeout(PING_S)
                qmp.connect(f"/run/qemu-server/{number}.qmp")
                qmp.sendall(b'{"execute": "quit"}')
                qmp.recv(4096)
            quit_s = float(option(words, "--timeout", str(QUIT_S)))
        except OSError:
            print("VM quit/powerdown failed - terminating now with SIGTERM", file=sys.stderr)
            os.kill(pid, signal.SIGTERM)
            quit_s = TERM_S
        if not ended(number, quit_s):
            print("VM still running - terminating now with SIGTERM", file=sys.stderr)
            os.kill(pid, signal.SIGTERM)
            if not ended(number, TERM_S):
                print("VM still running - terminating now with SIGKILL", file=sys.stderr)
                os.kill(pid, signal.SIGKILL)
                time.sleep(KILL_S)
        Path(f"/run/qemu-server/{number}.pid").unlink(missing_ok=True)
        reserve(number, [])


def ended(number: str, limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while pid_of(number):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def execute(number: str, words: list[str]) -> None:
    """`qm guest exec ID [--timeout N] -- COMMAND`: success whatever became of the command, whose own status is in the JSON."""
    if config(number).get("agent", "0").partition(",")[0] not in {"1", "enabled=1"}:
        die("No QEMU guest agent configured")
    if not pid_of(number):
        die(f"VM {number} is not running")
    ask(number, {"execute": "guest-ping"}, PING_S)
    command = words[words.index("--") + 1 :]
    limit_s = float(option(words[: words.index("--")], "--timeout", "30"))
    told = ask(number, {"execute": "guest-exec", "argv": command, "limit_s": limit_s}, limit_s + PING_S)
    if "exited" not in told:
        print("timeout reached, returning pid", file=sys.stderr)
    print(json.dumps(told, indent=3, sort_keys=True, separators=(",", " : ")))


def ask(number: str, what: dict, limit_s: float) -> dict:
    """One question to the agent, over the machine's own channel."""
    try:
        with socket.socket(socket.AF_UNIX) as channel:
            channel.settimeout(limit_s)
            channel.connect(f"/run/deep/{number}/agent")
            channel.sendall(json.dumps(what).encode() + b"\n")
            return json.loads(channel.makefile().readline())
    except (OSError, ValueError):
        die("QEMU guest agent is not running")


def main(verb: str = "help", *words: str) -> None:
    if verb == "list":
        show_list()
        return
    if (verb, *words[:1]) == ("guest", "exec"):
        verb, words = "guest exec", words[1:]
    if not words:
        die("400 not enough arguments")
    number, rest = words[0], list(words[1:])
    told = sorted(config(number).items())
    if verb == "status":
        print(f"status: {status(number)}")
    elif verb == "config":
        print("\n".join(f"{key}: {value}" for key, value in told))
    elif verb == "pending":
        print("\n".join(f"cur {key}: {value}" for key, value in told))
    elif verb == "start":
        start(number)
    elif verb == "stop":
        stop(number, rest)
    elif verb == "guest exec":
        execute(number, rest)
    else:
        die(f"ERROR: unknown command 'qm {verb}'")


main(*sys.argv[1:])
