"""A TCP port that stays one host's own: while nobody listens on it, it refuses, as that of a host that is down."""

import socket
import threading
from collections.abc import Callable

_BACKLOG = 128


class Port:
    """A free port of an address, taken until the process ends."""

    def __init__(self, address: str, arrive: Callable[[socket.socket], None]) -> None:
        self._arrive = arrive
        self._keeper = _socket()
        self._keeper.bind((address, 0))
        self._listener: socket.socket | None = None

    @property
    def number(self) -> int:
        """Which port it is."""
        number: int = self._keeper.getsockname()[1]
        return number

    def open(self) -> None:
        """Listen, if it does not yet; every connection is given to `arrive`, in a thread of its own."""
        if self._listener is None:
            listener = _socket()
            listener.bind(self._keeper.getsockname())
            listener.listen(_BACKLOG)
            self._listener = listener
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def close(self) -> None:
        """Refuse from here on."""
        if self._listener is not None:
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes who waits for a connection
            self._listener.close()
            self._listener = None

    def give_up(self) -> None:
        """Refuse, and let the port be anybody's."""
        self.close()
        self._keeper.close()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._arrive, args=(connection,), daemon=True).start()


def _socket() -> socket.socket:
    """Two sockets may be bound to the same port where both say so and only one listens (socket(7), SO_REUSEADDR)."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return made
