"""How the processes of one service are connected."""

import socket
from dataclasses import dataclass

from fleetops.lab.engine.channel import Channel, pair


@dataclass(frozen=True)
class Wiring:
    """All channels, made before the first fork; each process uses its own ends.

    Requests go launcher -> rank 0, answers rank 0 -> detokenizer -> launcher; what each rank must take part in goes
    over rank 0's group. Where the real engine has ZeroMQ, NCCL and multiprocessing's pipes.

    Attributes:
        requests: launcher's end, rank 0's end.
        tokens: rank 0's end, detokenizer's end.
        texts: detokenizer's end, launcher's end.
        group: for each further rank: rank 0's end, its own end.
        port: the service's port, bound; whoever listens on it holds it.
    """

    requests: tuple[Channel, Channel]
    tokens: tuple[Channel, Channel]
    texts: tuple[Channel, Channel]
    group: tuple[tuple[Channel, Channel], ...]
    port: socket.socket | None


def wire(ranks: int, port: socket.socket | None) -> Wiring:
    """Connect a service with that many ranks."""
    return Wiring(pair(), pair(), pair(), tuple(pair() for _ in range(ranks - 1)), port)


class Group:
    """One rank's place among all: nothing goes on until every rank takes part, as with NCCL."""

    def __init__(self, wiring: Wiring, number: int) -> None:
        self._others = [end for end, _ in wiring.group] if number == 0 else []
        self._first = wiring.group[number - 1][1] if number else None

    def barrier(self) -> None:
        """Wait until all ranks are here. A dead rank means for ever."""
        if self._first:
            self._first.send({"here": True})
            self._first.receive()
            return
        for other in self._others:
            other.receive()
        for other in self._others:
            other.send({"go": True})

    def forward(self) -> None:
        """Rank 0: have every other rank do its part of a forward pass."""
        for other in self._others:
            other.send({"forward": True})
        for other in self._others:
            other.receive()

    def follow(self) -> None:
        """Every other rank: do its part whenever rank 0 asks."""
        if self._first:
            while self._first.receive():
                self._first.send({"done": True})
