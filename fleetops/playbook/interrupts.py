"""Ctrl-C while a change is on its way to a host: noted, and acted on when the change has ended."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def held_back(tell: Callable[[str], None]) -> Iterator[None]:
    """Inside, the first interruption is only noted and raised as KeyboardInterrupt at the end; a second acts at once.

    A change that was submitted goes on without us: to leave in the middle would release the locks over it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    noted: list[int] = []

    def note(number: int, frame: object) -> None:
        del frame
        if noted:
            raise KeyboardInterrupt
        noted.append(number)
        tell("interrupted: the change that is on its way must end first (once more leaves it to itself)")

    earlier = {number: signal.getsignal(number) for number in _SIGNALS}
    taken = {number: old for number, old in earlier.items() if old not in {signal.SIG_IGN, None}}
    for number in taken:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, old in taken.items():
            signal.signal(number, old)
    if noted:
        raise KeyboardInterrupt
