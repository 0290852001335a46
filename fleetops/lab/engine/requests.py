"""Requests on their way: from an HTTP thread to rank 0, and back from the detokenizer."""

import itertools
import queue
import threading
import time
import uuid
import zlib
from dataclasses import dataclass, field
from typing import Any

from fleetops.lab.engine.channel import Channel
from fleetops.lab.engine.vocabulary import count_tokens

Piece = tuple[str, dict[str, Any] | None, int]


@dataclass
class Pending:
    """One request. Its pieces arrive in order: text, why it ended (None before the last), prompt tokens."""

    rid: str
    started: float = field(default_factory=time.time)
    pieces: "queue.SimpleQueue[Any]" = field(default_factory=queue.SimpleQueue)


class Requests:
    """All requests of one service, by id."""

    def __init__(self, to_scheduler: Channel, from_detokenizer: Channel) -> None:
        self._to_scheduler = to_scheduler
        self._from_detokenizer = from_detokenizer
        self._pending: dict[str, Pending] = {}
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self.heard = threading.Condition()
        self.last_heard = 0.0
        self.generated = 0
        self.prompted = 0
        self.finished = 0

    def pending(self) -> list[str]:
        """Ids of the requests that have no answer yet."""
        with self._lock:
            return [rid for rid in self._pending if not rid.startswith("HEALTH")]

    def generate(self, prompt: str, limit: int | None, *, ignore_eos: bool = False, rid: str = "") -> Pending:
        """Send a prompt. Where a rank is dead, no piece will ever come."""
        pending = self._register(rid or uuid.uuid4().hex)
        self._to_scheduler.send(
            {
                "rid": pending.rid,
                "prompt_tokens": count_tokens(prompt),
                "limit": limit,
                "ignore_eos": ignore_eos,
                "seed": zlib.crc32(prompt.encode()),
            }
        )
        return pending

    def internal_state(self) -> Any:
        """Rank 0's own view. Hangs where the scheduler hangs, as the real one does."""
        pending = self._register(f"HEALTH_STATE_{next(self._numbers)}")
        self._to_scheduler.send({"state": pending.rid})
        return pending.pieces.get()

    def strike(self, fault: str) -> None:
        """Have rank 0 go wrong in that way (`scheduling.FAULTS`)."""
        self._to_scheduler.send({"fault": fault})

    def pieces(self, pending: Pending) -> Any:
        """The pieces of a request as they come, to the last one."""
        while True:
            piece: Piece = pending.pieces.get()
            yield piece
            if piece[1]:
                return

    def abort(self, pending: Pending) -> None:
        """The client has gone away."""
        self._to_scheduler.send({"abort": pending.rid})
        self.forget(pending)

    def forget(self, pending: Pending) -> None:
        """Nobody waits for this one any more."""
        with self._lock:
            self._pending.pop(pending.rid, None)

    def collect(self) -> None:
        """Hand out whatever the detokenizer sends, until it is gone."""
        try:
            while message := self._from_detokenizer.receive():
                with self.heard:
                    self.last_heard = time.time()
                    self.heard.notify_all()
                if "state" in message:
                    self._deliver(message["state"], message["value"], last=True)
                for rid, text, finish, prompt in message.get("out", ()):
                    self._count(finish, prompt)
                    self._deliver(rid, (text, finish, prompt), last=bool(finish))
        except EOFError:
            return

    def _count(self, finish: object, prompt: int) -> None:
        self.generated += 1
        if finish:
            self.finished += 1
            self.prompted += prompt

    def _register(self, rid: str) -> Pending:
        pending = Pending(rid)
        with self._lock:
            self._pending[rid] = pending
        return pending

    def _deliver(self, rid: str, piece: object, *, last: bool) -> None:
        with self._lock:
            pending = self._pending.pop(rid, None) if last else self._pending.get(rid)
        if pending:
            pending.pieces.put(piece)
