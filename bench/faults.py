"""Hosts as they are in a large fleet: some refuse, some accept and say nothing, some are slow."""

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Literal

Kind = Literal["well", "refusing", "silent", "slow"]
SHARES: dict[Kind, float] = {"refusing": 0.02, "silent": 0.02, "slow": 0.01}


def kinds(count: int) -> list[Kind]:
    """What each of so many hosts is: the shares of SHARES, at least one of each, spread evenly over the list."""
    found: list[Kind] = ["well"] * count
    for number, (kind, share) in enumerate(SHARES.items()):
        many = max(1, round(count * share))
        for turn in range(many):
            place = int((turn + (number + 1) / (len(SHARES) + 1)) * count / many)
            while found[place % count] != "well":
                place += 1
            found[place % count] = kind
    return found


@contextmanager
def silent(addresses: Sequence[str], port: int) -> Iterator[None]:
    """The kernel accepts there, and nobody ever says a word."""
    with ExitStack() as stack:
        for address in addresses:
            stack.enter_context(socket.create_server((address, port), backlog=16))
        yield
