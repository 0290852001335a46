"""Start one host: fresh namespaces, its own root, and the lab's init as PID 1. Standard library only.

The process that starts a host waits for its end, as lxc-start does, and dies with whoever started it; the host
dies with it. A container is started this way inside its hypervisor, by `pct start`.
"""

import os
import socket
import sys
from pathlib import Path

from fleetops.lab import linux, trouble
from fleetops.lab.root import enter_root
from fleetops.lab.spec import BUTTON, INIT_PID, LIBRARY, READY, HostSpec, python_command, read_spec


def main() -> int:
    """`host FOLDER`: start the host whose run folder that is, and wait until it has ended."""
    folder = Path(sys.argv[1])
    for left in (INIT_PID, READY, BUTTON):
        (folder / left).unlink(missing_ok=True)
    trouble.begin(folder)
    spec = read_spec(folder)
    linux.become_root_of_own_namespace(linux.HOST_NAMESPACES)
    inside, outside = os.pipe()  # closes by itself when init has taken over
    child = os.fork()
    if child == 0:
        _become_init(spec)
    os.close(outside)
    os.read(inside, 1)
    # Only now may anyone enter: before, the host's root was still that of whoever started it.
    pid_file = folder / INIT_PID
    fresh = pid_file.with_name(f".{INIT_PID}")
    fresh.write_text(str(child))
    fresh.rename(pid_file)
    _, status = os.waitpid(child, 0)
    pid_file.unlink(missing_ok=True)
    return os.waitstatus_to_exitcode(status) & 0xFF


def _become_init(spec: HostSpec) -> None:
    try:
        linux.die_with_parent()
        linux.unshare(
            linux.NEWNS
        )  # not the starter's: changing the root changes it for a whole mount namespace
        enter_root(spec)
        socket.sethostname(spec.name)
        linux.raise_loopback()
        argv = python_command(spec.python, "fleetops.lab.init", str(LIBRARY))
        os.execve(spec.python, argv, environment())  # noqa: S606 - an argv, no shell
    except OSError as error:
        print(f"{spec.name}: {error}", file=sys.stderr, flush=True)
        os._exit(1)


def environment() -> dict[str, str]:
    """The environment of everything in a host, its SSH sessions included."""
    return {
        "PATH": "/opt/fleetops-lab/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "USER": "root",
        "LOGNAME": "root",
        "SHELL": "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh",
        "LANG": "C.UTF-8",
        "PYTHONPATH": "/opt/fleetops-lab/site",
    }
