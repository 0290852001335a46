"""A backup was killed, and the guest's lock is still there."""

from pathlib import Path

from fleetops.lab.breakages.base import BrokenNode

NAME = "lock-left"
SUMMARY = "the service runs; a backup of the guest was killed and has left its lock"
EXPLANATION = (
    "vzdump was ended by SIGKILL and could not take its lock off again. No task runs. The guest runs and shows nothing of it;"
    " Proxmox refuses to stop, start or back it up until somebody has removed the lock, which a recovery never does: only a"
    " person can be sure that nothing works on the guest any more."
)
PLATFORMS = ("lxc", "vm")


def apply(folder: Path, node: str) -> None:
    """Start a service, begin a backup and kill it."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.serve_profile()
    broken.backup("start")
    broken.backup("kill")
