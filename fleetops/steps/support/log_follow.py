"""Following an engine's log on the node: only new bytes travel, and the process is looked at in the same round trip."""

from dataclasses import dataclass

from fleetops.engines.base import Engine
from fleetops.model.command import shell
from fleetops.model.engine import LogReport
from fleetops.model.errors import StepFailed
from fleetops.steps.support.base import Desk
from fleetops.steps.support.launching import Started
from fleetops.steps.support.scripts import START_OF

_CHUNK = 256 * 1024

# $1 log, $2 bytes already read, $3 pid, $4 start ticks. First line: `alive` or `dead`; then the new bytes.
_FOLLOW = (
    START_OF
    + r"""
state=dead
if stat=$(cat "/proc/$3/stat" 2>/dev/null); then
    fields=${stat##*) }; letter=${fields%% *}
    if [ "$(start_of "$stat")" = "$4" ] && [ "$letter" != Z ] && [ "$letter" != X ]; then state=alive; fi
fi
echo $state
tail -c "+$(($2 + 1))" -- "$1" | head -c 262144
"""
)


@dataclass
class Follower:
    """Reads on where it stopped; `report` is what the log says so far."""

    engine: Engine
    started: Started
    node: str
    report: LogReport
    alive: bool = True
    next_look_at: float = 0.0
    _offset: int = 0
    _rest: str = ""

    def read_on(self, desk: Desk) -> bool:
        """Take in what is new; returns whether there may be more to read at once."""
        log, pid, ticks = self.started.log, str(self.started.pid), str(self.started.start_ticks)
        outcome = desk.ask(
            self.node, shell(_FOLLOW, log, str(self._offset), pid, ticks, name="fleetops-follow")
        )
        head, _, new = outcome.stdout.partition("\n")
        if outcome.timed_out:
            desk.tell("the log could not be read in time; asking again")
            return False
        if not outcome.ok or head not in {"alive", "dead"}:
            raise StepFailed(f"the log {log} could not be read: {outcome.said}", host=self.node)
        self.alive = head == "alive"
        size = len(new.encode("utf-8", "surrogateescape"))
        self._offset += size
        *lines, self._rest = (self._rest + new).split("\n")
        for line in lines:
            self.report = self.engine.fold(self.report, line)
        return size >= _CHUNK
