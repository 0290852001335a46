#!/usr/bin/python3
"""kvm, as its hypervisor knows it: one process that is the VM, with a pid file and a QMP socket.

`kvm -id 181 -name node-181`. The machine in it is an LXC container that lives exactly as long as this process does,
whatever ends that, and this process ends with the machine. Of QMP only `quit` is known.
"""

import contextlib
import ctypes
import json
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def serve(qmp: socket.socket, number: str) -> None:
    while True:
        client, _ = qmp.accept()
        with client, contextlib.suppress(OSError, ValueError):
            if json.loads(client.recv(4096)).get("execute") == "quit":
                client.sendall(b'{"return": {}}')
                power_off(number)


def power_off(number: str) -> None:
    """The plug is pulled: nothing inside is asked."""
    subprocess.run(["lxc-stop", "-n", number, "--kill"], check=False)


def main() -> int:
    number = sys.argv[sys.argv.index("-id") + 1]
    pid_file, address = Path(f"/run/qemu-server/{number}.pid"), Path(f"/run/qemu-server/{number}.qmp")
    address.unlink(missing_ok=True)
    qmp = socket.socket(socket.AF_UNIX)
    qmp.bind(str(address))
    qmp.listen()
    words = ["lxc-start", "-F", "-n", number, "-l", "ERROR", "-o", f"/run/kvm-{number}.log"]
    null = subprocess.DEVNULL
    machine = subprocess.Popen(words, stdin=null, preexec_fn=die_with_parent)  # noqa: PLW1509 - no thread is there yet
    signal.signal(signal.SIGTERM, lambda *_: power_off(number))
    threading.Thread(target=serve, args=(qmp, number), daemon=True).start()
    subprocess.run(["lxc-wait", "-n", number, "-s", "RUNNING|STOPPED", "-t", "20"], check=False)
    fresh = pid_file.with_suffix(".new")
    fresh.write_text(f"{Path('/proc/self').resolve().name}\n")
    fresh.rename(pid_file)
    ended = machine.wait()
    for left in (pid_file, address):
        left.unlink(missing_ok=True)
    return ended


sys.exit(main())
