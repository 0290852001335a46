"""What one session has started and not seen the end of: what must be ended, or spoken of, when a run is interrupted."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fleetops.model.errors import ConnectionLost, Unreachable
from fleetops.ssh.streams import Sections


@dataclass(frozen=True)
class Call:
    """Something that was sent.

    Attributes:
        out: its standard output; a single command's start marker tells the number of its process.
        ends_by: when its host will have ended it at the latest, by this machine's monotonic clock.
    """

    nonce: str
    out: Sections
    root: bool
    ends_by: float

    @property
    def shell_pid(self) -> str:
        """The number of its shell's process on the host; "" where that is not known (yet)."""
        return self.out.statuses[0] if self.out.started else ""


class UnderWay:
    """The calls that one session has sent; thread-safe."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._calls: list[Call] = []
        self._over = False
        self._changed = threading.Condition()

    @contextmanager
    def call(self, nonce: str, out: Sections, *, root: bool, longest_s: float) -> Iterator[None]:
        """Around sending a call and awaiting its end; one whose end was not seen stays. Raises Unreachable once over."""
        call = Call(nonce, out, root, time.monotonic() + longest_s)
        with self._changed:
            if self._over:
                raise Unreachable(f"{self._host}: not started: the run is being ended", host=self._host)
            self._calls.append(call)
        try:
            yield
        except ConnectionLost:
            raise
        except BaseException:
            self._forget(call)
            raise
        self._forget(call)

    def _forget(self, call: Call) -> None:
        with self._changed:
            self._calls.remove(call)
            self._changed.notify_all()

    def stop(self) -> list[Call]:
        """What is under way; from now on nothing new can be started."""
        with self._changed:
            self._over = True
            return list(self._calls)

    def await_none(self, within_s: float) -> None:
        """Wait until everything has ended, at most this long."""
        with self._changed:
            self._changed.wait_for(lambda: not self._calls, within_s)

    @property
    def left_s(self) -> float:
        """How much longer something may run there; 0 where everything has ended, or must have."""
        with self._changed:
            return max((call.ends_by - time.monotonic() for call in self._calls), default=0.0)
