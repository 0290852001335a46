"""What a finished exchange says of its commands."""

import re
from collections.abc import Sequence

from fleetops.model.command import Command, Outcome
from fleetops.ssh import quote
from fleetops.ssh.exchange import Exchange

_TIMED_OUT = 124  # timeout(1): the command ended on SIGTERM
_KILLED = 137  # the command, and timeout with it, ended on SIGKILL
_NOT_STARTED = (126, 127)  # timeout(1): the command cannot be run, or there is none
_WRAPPER_SAID = re.compile(
    r"timeout: (?:failed to run command|can't execute) [‘'](.*)[’']: (.*\n?)", re.DOTALL
)


def run_outcome(command: Command, exchange: Exchange, status: int | None) -> Outcome:
    """The outcome of a single command; `status` None when the host never said that it ended."""
    elapsed_s = exchange.ended_at - exchange.began
    return _outcome(command, exchange, 0, status, elapsed_s)


def batch_outcomes(commands: Sequence[Command], exchange: Exchange) -> list[Outcome]:
    """The outcomes of a batch; parts whose end never came have timed out."""
    missing = len(commands) - exchange.out.ended
    statuses = [_number(word) for word in exchange.out.statuses[1:]] + [None] * missing
    moments = exchange.moments + [exchange.ended_at] * missing
    return [
        _outcome(command, exchange, part, statuses[part], moments[part + 1] - moments[part])
        for part, command in enumerate(commands)
    ]


def _number(word: str) -> int | None:
    return int(word) if word.isdigit() else None


def _outcome(
    command: Command, exchange: Exchange, part: int, status: int | None, elapsed_s: float
) -> Outcome:
    out, err = exchange.out.part(part), exchange.err.part(part)
    return Outcome(
        status=status,
        stdout=quote.decode(out.content),
        stderr=_own_words(quote.decode(err.content), status),
        timed_out=status is None or ran_out(command, status, elapsed_s),
        truncated=out.truncated or err.truncated,
        duration_s=elapsed_s,
    )


def _own_words(stderr: str, status: int | None) -> str:
    """A program that cannot be started is told of as a shell would, not as by the `timeout` around it."""
    said = _WRAPPER_SAID.fullmatch(stderr) if status in _NOT_STARTED else None
    return f"{said[1]}: {said[2]}" if said else stderr


def ran_out(command: Command, status: int, elapsed_s: float) -> bool:
    """Whether `timeout` ended it: its statuses could be the command's own, so the clock has a say.

    A part's end can only be seen late, and the one before it too, so half a deadline is proof enough for 124; for
    137, which the kernel's OOM killer gives as well, nearly all of the time must have passed.
    """
    if status == _TIMED_OUT:
        return elapsed_s >= command.deadline_s / 2
    return status == _KILLED and elapsed_s >= 0.9 * (command.deadline_s + quote.KILL_AFTER_S)
