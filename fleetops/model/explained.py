"""What `explain` found out over several nodes."""

from dataclasses import dataclass

from fleetops.model.proof import Explanation


@dataclass(frozen=True, kw_only=True)
class NodeSize:
    """What the flag's number comes to on one node, as the profile that belongs there has it.

    Attributes:
        profile: its name; ranks: on the node.
        asked: the profile's number; None where it leaves it out, or to the sizing.
        asked_bytes: what that takes on the whole node, every pool counted.
        available_bytes: MemAvailable, or the room in the node's cgroup where that is less.
        fits: the largest whole number that fits beside the profile's reserve and floor.
    """

    profile: str
    ranks: int
    unit: str
    asked: int | float | None
    asked_bytes: int | None
    available_bytes: int
    fits: int | None


@dataclass(frozen=True, kw_only=True)
class NodeAnswer:
    """What a flag means on one node.

    Attributes:
        folder: the package's own on the node.
        size: None where nothing tells what the flag's number comes to.
    """

    host: str
    explanation: Explanation
    folder: str = ""
    size: NodeSize | None = None


@dataclass(frozen=True, kw_only=True)
class Unexplained:
    """A node that could not be asked, or has no source that can be read: it is unknown what the flag means there."""

    host: str
    error: str
    hint: str = ""
    reached: bool = False


@dataclass(frozen=True, kw_only=True)
class ExplainReport:
    """One flag over all nodes that were asked, in the inventory's order."""

    flag: str
    answers: tuple[NodeAnswer, ...]
    unreachable: tuple[Unexplained, ...] = ()
