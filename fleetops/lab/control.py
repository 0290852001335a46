"""The lab's own way into its hosts, past SSH: how the SSH server and the breakages run things there."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from fleetops.lab.fleet import LabHost, lab_host
from fleetops.lab.host import environment
from fleetops.lab.paths import Layout
from fleetops.lab.privilege import LAB_UID, gives_up_root
from fleetops.lab.spec import INIT_PID
from fleetops.model.errors import FleetopsError

_NAMESPACES = ("--user", "--preserve-credentials", "--mount", "--pid", "--ipc", "--uts", "--net", "--cgroup")
_OUTER_NAMESPACES = ("--user", "--preserve-credentials", "--mount", "--pid")
DOWN = "the host is down"


class HostDown(FleetopsError):  # noqa: N818 - named for what the user reads
    """The lab's host is not running."""

    kind = "host-down"


def run_folder(layout: Layout, host: LabHost) -> Path:
    """A host's /run/lab, from outside."""
    return layout.run(host.name, host.hypervisor if host.kind == "lxc" else "", host.guest_id)


def init_pid(layout: Layout, host: LabHost) -> int:
    """The pid of a host's init, in the lab's pid namespace, or in its hypervisor's for a container.

    Raises HostDown.
    """
    try:
        return int((run_folder(layout, host) / INIT_PID).read_text())
    except FileNotFoundError:
        raise HostDown(f"{host.name}: {DOWN}", host=host.name) from None


def boot(layout: Layout, host: LabHost) -> tuple[int, ...]:
    """What tells one run of a host from the next: its init's pid, and its hypervisor's. Raises HostDown."""
    above = boot(layout, lab_host(host.hypervisor)) if host.kind == "lxc" else ()
    return (*above, init_pid(layout, host))


def entry(layout: Layout, host: LabHost) -> list[str]:
    """The argv to put before a command that shall run in a host, for a caller inside the lab's namespaces.

    Raises HostDown.
    """
    before = entry(layout, lab_host(host.hypervisor)) if host.kind == "lxc" else []
    return [*before, "/usr/bin/nsenter", "--target", str(init_pid(layout, host)), *_NAMESPACES, "--"]


def network(layout: Layout, host: LabHost) -> Path:
    """The file of a host's network namespace, for a caller inside the lab's namespaces. Raises HostDown."""
    own = f"proc/{init_pid(layout, host)}"
    if host.kind != "lxc":
        return Path("/", own, "ns/net")
    return Path(f"/proc/{init_pid(layout, lab_host(host.hypervisor))}/root", own, "ns/net")


def way_in(folder: Path) -> list[str]:
    """The argv to put before `entry` for a caller outside of the lab in `folder`, as the lab's owner."""
    supervisor = json.loads((folder / "process.json").read_text())["pid"]
    return ["/usr/bin/nsenter", "--target", str(supervisor), *_OUTER_NAMESPACES, "--"]


def run_in(
    folder: Path, name: str, argv: Sequence[str], *, stdin: str = "", timeout_s: float = 60.0
) -> subprocess.CompletedProcess[str]:
    """Run a command in a host of the lab in `folder`, from outside the lab. The exit status is the caller's to judge.

    Raises HostDown, and subprocess.TimeoutExpired.
    """
    owner = LAB_UID if gives_up_root() else None
    return subprocess.run(
        [*way_in(folder), *entry(Layout(folder), lab_host(name)), "setsid", *argv],
        input=stdin,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout_s,
        check=False,
        cwd="/",
        env=environment(),
        user=owner,
        group=owner,
        extra_groups=None if owner is None else [],
    )
