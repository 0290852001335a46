"""The fleet's breaker: how many nodes are under recovery or failed, and whether that holds every further one up."""

from dataclasses import dataclass

from fleetops.model.nodeset import fold_names


@dataclass(frozen=True, kw_only=True)
class CountedRun:
    """A recovery that runs, or that ended without the node being well.

    Attributes:
        status: running (or cut off: nobody has written down how it ended), failed, refused or interrupted after a change.
    """

    run_id: str
    node: str
    playbook: str
    began_at: float
    status: str = "running"
    ended_at: float | None = None
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class BreakerReset:
    """A person has closed the breaker: who, when, why, and what counted until then."""

    at: float
    who: str
    why: str
    nodes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Breaker:
    """How it stands.

    Attributes:
        limit: at so many nodes it opens.
        runs: those that count, the newest first.
        opened_at: since when it holds further nodes up; None while it does not. `opened_why`: what opened it.
        resets: by whom and why it was closed before, the newest first.
    """

    limit: int
    runs: tuple[CountedRun, ...] = ()
    opened_at: float | None = None
    opened_why: str = ""
    resets: tuple[BreakerReset, ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        """Each node that counts, once, by name."""
        return tuple(sorted({run.node for run in self.runs}))

    @property
    def is_open(self) -> bool:
        """It holds up every node that does not count already, whatever counts by now, until a person closes it."""
        return self.opened_at is not None

    @property
    def is_full(self) -> bool:
        """No node that does not count already would be let through."""
        return self.is_open or len(self.nodes) >= self.limit

    def holds_up(self, node: str) -> str:
        """Why a recovery of this node may not begin; "" where it may."""
        if node in self.nodes:
            return ""
        if self.is_open:
            return f"the breaker is open: {self.opened_why}"
        return self.too_many if self.is_full else ""

    @property
    def too_many(self) -> str:
        """What counts, in words."""
        return f"{len(self.nodes)} nodes are under recovery or failed ({fold_names(self.nodes)}), {self.limit} is the limit"
