"""A change whose connection broke on the way: what became of it is settled on its host, before anybody goes on.

Either it has begun, and then its end is awaited; or its claim is made in its place, and it cannot begin any more, however
late it arrives. Only then is it made again.
"""

from dataclasses import dataclass
from typing import Protocol

from fleetops.model.command import Command, Outcome, shell
from fleetops.model.errors import ConnectionLost, FleetopsError
from fleetops.model.session import Session
from fleetops.playbook.fence import fenced, new_claim
from fleetops.steps.support.detached import LIVES, RUNS

_AGAIN = 2
# How much longer than its own deadline the end of a change may take to show, and how long a host may be out of reach.
_LATE_S = 20.0
_POLL_S = 1.0
_SEALED, _RUNNING, _OVER = "sealed", "running", "over"

# $1 a claim. `sealed`: it was not there, and is made here; `running`; `over`: its process has ended. A claim without a pid is
# just being made.
_SETTLE = (
    LIVES
    + r"""
umask 077
mkdir -p "${1%/*}" || exit 1
if mkdir "$1" 2>/dev/null; then : > "$1/sealed" || exit 1; fi
if [ -e "$1/sealed" ]; then echo sealed
elif [ ! -s "$1/pid" ] || lives "$1"; then echo running
else echo over
fi
"""
)


class Waiter(Protocol):
    """Whoever has to wait for it; a desk is one."""

    def tell(self, text: str) -> None:
        """A word of progress."""

    def now(self) -> float:
        """Seconds on a clock that only goes forward."""

    def wait(self, seconds: float) -> None:
        """Let time pass."""


@dataclass
class Sender:
    """How one run makes a change on a host whose lock of that name it holds. `again`: how often it had to be made anew."""

    session: Session
    run_id: str
    lock: str
    waiter: Waiter
    again: int = 0

    def make(self, command: Command, name: str) -> Outcome:
        """Make a change within its fence; one that is shown never to have begun is made again.

        Raises:
            ConnectionLost: it had begun, and has ended unless nobody can tell: the facts show what it did.
        """
        for left in reversed(range(_AGAIN + 1)):
            claim = new_claim(name)
            try:
                return self.session.run(fenced(command, lock=self.lock, run_id=self.run_id, claim=claim))
            except ConnectionLost as error:
                self.waiter.tell(f"{error.message}: looking at what became of it")
                settled = self._settled(f"{RUNS}/{self.run_id}/{claim}", command.deadline_s + _LATE_S)
                if settled != _SEALED or not left:
                    raise
                self.waiter.tell(
                    f"it had not begun on {self.session.host}, and cannot any more: it is made again"
                )
                self.again += 1
        raise AssertionError("the last try either returns or raises")

    def _settled(self, claim: str, within_s: float) -> str:
        """`sealed`, `over`, or after that time `running`, which also stands for what nobody can tell."""
        until = self.waiter.now() + within_s
        while True:
            state = self._ask(claim)
            if state != _RUNNING or self.waiter.now() >= until:
                return state
            self.waiter.wait(_POLL_S)

    def _ask(self, claim: str) -> str:
        command = shell(_SETTLE, claim, name="fleetops-settle", root=True, changes=True)
        try:
            outcome = self.session.run(command)
        except FleetopsError as error:
            self.waiter.tell(f"{error.message}: asking again what became of the change")
            return _RUNNING
        state = outcome.stdout.strip()
        return state if outcome.ok and state in {_SEALED, _OVER} else _RUNNING
