"""One call over one SSH channel: what it prints is drained, what it reads is fed, in one loop and one thread."""

import select
import time
from collections.abc import Sequence
from enum import Enum

from paramiko import Channel

from fleetops.ssh.streams import Sections
from fleetops.ssh.sudo import SudoDialogue

START_S = 10.0
"""How long a host may take to start a shell; a node short of memory is slow at it."""

GRACE_S = 3.0
"""How much later than the host's own deadline the answer may come in."""

_LINGER_S = 2.0
"""How long output may pause after the command has ended while something it started holds the stream open."""

_READ_BYTES = 1 << 20
_SEND_BYTES = 1 << 15
_LOOK_S = 0.25
_FULL_S = 0.02


class End(Enum):
    """Why a conversation is over."""

    COMPLETE = "every part ended"
    CLOSED = "the host closed the channel"
    OVERDUE = "nothing came for longer than a part may take"


class Exchange:
    """Drives a channel on which a call has just been started.

    Args:
        out, err: take the streams apart.
        stdin: what is sent, after `sudo` has let the call start where there is one.
        allowances_s: how long the start marker, and then each part, may take before the host counts as silent.
        batch: ends when all markers have come; otherwise with the stream.
    """

    def __init__(
        self,
        channel: Channel,
        out: Sections,
        err: Sections,
        *,
        stdin: bytes,
        allowances_s: Sequence[float],
        batch: bool,
        sudo: SudoDialogue | None = None,
    ) -> None:
        self._channel = channel
        self.out = out
        self.err = err
        self._stdin = stdin
        self._sent = 0
        self._closed_stdin = False
        self._allowances_s = allowances_s
        self._batch = batch
        self._sudo = sudo
        self._heard = self.began = self.ended_at = time.monotonic()
        self.moments: list[float] = []

    def run(self) -> End:
        """Talk until it is over. What an answer to sudo raises goes through."""
        poller = select.poll()
        poller.register(self._channel.fileno(), select.POLLIN)
        while True:
            over = bool(self._channel.eof_received or self._channel.closed)
            moved = self._drain()
            if end := self._ended(over=over and not moved):
                self.out.finish()
                self.err.finish()
                self.ended_at = time.monotonic()
                return end
            blocked = self._feed()
            if not moved:
                poller.poll((_FULL_S if blocked else min(_LOOK_S, max(self._left_s(), 0))) * 1000)

    def _drain(self) -> bool:
        moved = False
        if self._channel.recv_ready():
            self.out.feed(self._channel.recv(_READ_BYTES))
            moved = True
        if self._channel.recv_stderr_ready():
            self.err.feed(self._channel.recv_stderr(_READ_BYTES))
            moved = True
        if moved:
            self._heard = time.monotonic()
            self.moments += [self._heard] * (len(self.out.statuses) - len(self.moments))
        return moved

    def _ended(self, *, over: bool) -> End | None:
        if self._batch and self.out.complete and self.err.complete:
            return End.COMPLETE
        if over and (self._channel.exit_status_ready() or self._left_s() <= 0):
            return End.CLOSED
        now = time.monotonic()
        lingering = self._channel.exit_status_ready() and now - self._heard > _LINGER_S
        if lingering and not self._batch:
            return End.CLOSED
        return End.OVERDUE if self._left_s() <= 0 else None

    def _left_s(self) -> float:
        """Seconds until the host counts as silent."""
        since = self.moments[-1] if self.moments else self.began
        step = min(len(self.moments), len(self._allowances_s) - 1)
        return since + self._allowances_s[step] - time.monotonic()

    def _feed(self) -> bool:
        """Send what can be sent; True when some is left."""
        if self._closed_stdin:
            return False
        if self._sudo is not None and not self.err.started:
            self._answer(self._sudo)
            return False
        try:
            while self._sent < len(self._stdin) and self._channel.send_ready():
                self._sent += self._channel.send(self._stdin[self._sent : self._sent + _SEND_BYTES])
            if self._sent < len(self._stdin):
                return True
            self._channel.shutdown_write()
        except OSError:
            pass  # the call ended without reading all of it, as `head` does; its status tells the rest
        self._closed_stdin = True
        return False

    def _answer(self, sudo: SudoDialogue) -> None:
        answer = sudo.answer(self.err.preamble)
        if answer:
            self._channel.sendall(answer)
            self.began = time.monotonic()
