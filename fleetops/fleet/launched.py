"""Which profile was launched on a node last, where it is not the one that the inventory names."""

import re
from typing import Protocol

from fleetops.model.fleet import Inventory, Node
from fleetops.model.record import LaunchRecord


class Launches(Protocol):
    """What was launched before; `store.database.Store` is one."""

    def last_launch(self, node: str, *, other_than: str = "") -> LaunchRecord | None:
        """The newest launch on a node."""


def launched_last(recorded: Launches, inventory: Inventory, node: Node) -> str:
    """The profile that a recovery by the inventory's would replace; "" where there is none that could be named."""
    last = recorded.last_launch(node.name)
    is_other = last is not None and last.profile != node.profile
    return last.profile if last and is_other and last.profile in inventory.profiles else ""


def relaunching(command: str, node: Node, profile: str) -> str:
    """A next command whose recovery of the node relaunches that profile."""
    return re.sub(
        rf"(fleetops recover {re.escape(node.name)})(?!\S)(?! --(?:profile|no-relaunch))",
        lambda found: f"{found[0]} --profile {profile}",
        command,
    )
