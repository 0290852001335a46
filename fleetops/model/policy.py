"""When a sweep may recover a node by itself: nothing happens without a policy that somebody has written and asked for."""

from dataclasses import dataclass

RUNGS = {1: "stop-service", 2: "clear-leftovers", 3: "reset-gpus", 4: "power-cycle"}
"""The ladder's rungs that change something, by the step that takes each."""

_DAY_MIN = 24 * 60


@dataclass(frozen=True, kw_only=True)
class Hours:
    """A stretch of the day by the controller's clock, in minutes since midnight; over midnight where it ends earlier."""

    begin_min: int
    end_min: int

    def holds(self, minute: int) -> bool:
        """Whether this minute of the day lies within; begin and end alike means all day."""
        if self.begin_min == self.end_min:
            return True
        if self.begin_min < self.end_min:
            return self.begin_min <= minute < self.end_min
        return minute >= self.begin_min or minute < self.end_min


ALL_DAY = Hours(begin_min=0, end_min=_DAY_MIN)


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What a sweep may do by itself.

    Attributes:
        findings: the checks whose firm, critical findings are a reason.
        nodes: patterns of the nodes that it holds for.
        rung: the highest that it may take (`RUNGS`); what lies above is left out of the run.
        hours: when.
    """

    name: str
    findings: tuple[str, ...]
    nodes: tuple[str, ...]
    rung: int = 2
    hours: Hours = ALL_DAY
