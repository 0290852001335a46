"""Which command's connection is cut, and when: the changes of one operator's run are counted as they arrive at the hosts."""

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

# What changes a host: every change within its fence, and the lock being taken and given back.
_CHANGES = re.compile(r"'fleetops-(?:fence|lock|unlock)'")
_STEP = re.compile(r"'fleetops-fence' '[^']*' '([^']*)-[0-9a-f]{8}'")
_WORDS = re.compile(r"'(fleetops-[a-z-]+)' '([^'\n]*)'")
_RUN = re.compile(r"\d{8}-\d{6}-[\w-]+?-[0-9a-f]{6}")


class Moment(StrEnum):
    """When the connection breaks.

    BEFORE: the command was sent and has not arrived.
    INPUT: it has begun; nothing of its standard input has arrived.
    WHILE: it has begun, with all of its input, and has not come to its change yet: the host is slow.
    AFTER: it has ended; nothing of what it said, and not its status, has arrived.
    """

    BEFORE = "before it starts"
    INPUT = "before its input"
    WHILE = "while it runs"
    AFTER = "after its end"


def nothing_else() -> None:
    """Nothing happens but that the connection breaks."""


@dataclass
class Cutter:
    """Counts the changes; thread-safe. With `at` 0 nothing is cut.

    Attributes:
        seen: what arrived, in order, each as `HOST STEP: WHAT`.
        cut: the one whose connection was cut, "" where none was.
        then: what else happens at that moment.
    """

    at: int | str = 0
    moment: Moment = Moment.BEFORE
    seen: list[str] = field(default_factory=list)
    cut: str = ""
    then: Callable[[], None] = nothing_else
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def arm(
        self, at: int | str, moment: Moment = Moment.BEFORE, then: Callable[[], None] = nothing_else
    ) -> None:
        """Count from one again; cut at this number, or at the first whose name holds this text."""
        with self._lock:
            self.at, self.moment, self.then, self.seen, self.cut = at, moment, then, [], ""

    def arrives(self, host: str, line: str) -> Moment | None:
        """Note a command line; when its connection is to break, None for never."""
        if not _CHANGES.search(line):
            return None
        with self._lock:
            self.seen.append(f"{host} {_name(line)}")
            named = isinstance(self.at, str) and self.at in self.seen[-1]
            if self.cut or not (named or self.at == len(self.seen)):
                return None
            self.cut = self.seen[-1]
            self.then()
            return self.moment


def _name(line: str) -> str:
    """What a change is called, the same in every run: its step, its script, and what it is given first."""
    step = _STEP.search(line)
    calls = [call for call in _WORDS.findall(line) if call[0] != "fleetops-fence"]
    script, given = calls[0] if calls else ("a command", "")
    told = _RUN.sub("RUN", given.rpartition("/")[2])[:40]
    return f"{step[1]}: {script} {told}".strip() if step else f"{script} {told}".strip()
