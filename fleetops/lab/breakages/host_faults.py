"""What breakages do beside the node's own processes: to its driver, its guest and its hypervisor (tools/meddle.py)."""

import json
import socket
import time
from typing import TYPE_CHECKING

from fleetops.lab.paths import Layout
from fleetops.lab.spec import LIBRARY
from fleetops.lab.trouble import Mark
from fleetops.model.errors import FleetopsError

if TYPE_CHECKING:
    from fleetops.lab.breakages.base import BrokenNode

_PROGRAM = f"import sys; sys.path.insert(0, {str(LIBRARY)!r}); from fleetops.lab.tools.meddle import main; sys.exit(main())"
_KINDS = {"lxc": "lxc", "vm": "qemu", "bare": "bare"}
_HELD_MIB = 94838  # what a rank of the incident's service has
_ANSWER_S = 15.0


class NeverAnswers(FleetopsError):  # noqa: N818 - named for what the user reads
    """A node's port does not answer although the node was mended."""

    kind = "breakage-failed"


def mend(broken: "BrokenNode") -> None:
    """Undo all of it: the driver, the marks, the hypervisor's locks and settings; the node is up and answers."""
    meddle_with_guest(broken, "mend")
    if broken.host.kind == "vm":
        meddle_with_driver(broken, "mend")
    _await_answer(broken)


def mark(broken: "BrokenNode", kind: Mark, text: str = "") -> None:
    """Set one of the marks of a host in trouble."""
    meddle_with_guest(broken, "mark", kind, text)


def meddle_with_guest(broken: "BrokenNode", *action: str) -> None:
    """On the hypervisor of a guest; on the node itself where there is none."""
    kind, host = _KINDS[broken.host.kind], broken.host.hypervisor or broken.name
    broken.run("python3", "-c", _PROGRAM, kind, str(broken.host.guest_id or 0), *action, host=host)


def meddle_with_driver(broken: "BrokenNode", *action: str) -> None:
    """Where the node's driver is: on the hypervisor of a container, else on the node itself."""
    if broken.host.kind == "lxc":
        meddle_with_guest(broken, *action)
    else:
        broken.run("python3", "-c", _PROGRAM, "bare", "0", *action)


def log_on_hypervisor(broken: "BrokenNode", *lines: str) -> None:
    """Have the kernel of the guest's hypervisor tell of something that is no guest's."""
    broken.run("python3", "-c", _PROGRAM, "bare", "0", "log", *lines, host=broken.host.hypervisor)


def change_gpu(broken: "BrokenNode", minor: int, **changes: object) -> None:
    """Set fields of one GPU's state."""
    pairs = (f"{name}={json.dumps(value)}" for name, value in changes.items())
    meddle_with_driver(broken, "gpu", str(minor), *pairs)


def leak_until_stop(broken: "BrokenNode") -> None:
    """Leak memory on every third GPU of the node that only a reset while its guest is stopped frees."""
    meddle_with_driver(broken, "leak", *(f"{minor}:{_HELD_MIB}" for minor in broken.host.minors[1::3]))


def run_persistence_daemon(broken: "BrokenNode") -> None:
    """Start nvidia-persistenced where the node's driver is."""
    host = broken.host.hypervisor if broken.host.kind == "lxc" else ""
    broken.run("nvidia-persistenced", host=host)


def xid_address(broken: "BrokenNode", minor: int) -> str:
    """A GPU's address as the kernel's log has it in an Xid line: no function digit."""
    table = broken.run("nvidia-smi", "--query-gpu=pci.bus_id", "--format=csv,noheader").split()
    return table[broken.host.minors.index(minor)][4:].lower().removesuffix(".0")


def _await_answer(broken: "BrokenNode") -> None:
    port = json.loads(Layout(broken.folder).record.read_text())["ports"][broken.name]
    deadline = time.monotonic() + _ANSWER_S
    while True:
        try:
            with socket.create_connection((broken.host.address, port), _ANSWER_S) as connection:
                connection.settimeout(1.0)
                if connection.recv(4).startswith(b"SSH-"):
                    return
        except OSError:
            if time.monotonic() > deadline:
                raise NeverAnswers(f"{broken.name} does not answer", host=broken.name) from None
        time.sleep(0.02)
