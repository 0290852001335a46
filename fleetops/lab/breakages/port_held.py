"""Somebody else's program listens on the service's port."""

from pathlib import Path

from fleetops.lab.breakages.base import PORT, BrokenNode

NAME = "port-held"
SUMMARY = "no service, and a program of somebody else's listens on port 30000: a start would fail"
EXPLANATION = (
    "The service is gone, and before anybody started it again a web server of somebody else's took its port. It holds no"
    " GPU and is no part of any engine, so it must not be ended; a launch would load the model for minutes and then fail to"
    " bind. One sees a clean node with a port that is taken, and the process that has it is named."
)
PLATFORMS = ("lxc", "vm", "bare")


def apply(folder: Path, node: str) -> None:
    """Start a web server on the port."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.spawn("python3", "-m", "http.server", str(PORT), "--directory", "/srv")
    broken.await_that(lambda: is_listened_on(broken), "the port was not taken")


def is_listened_on(broken: BrokenNode) -> bool:
    """Whether anybody listens on the service's port."""
    sockets = (line.split() for line in broken.run("cat", "/proc/net/tcp").splitlines()[1:])
    return any(one[1].endswith(f":{PORT:04X}") and one[3] == "0A" for one in sockets)
