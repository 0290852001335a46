"""The HTTP side of `fleetops sweep --serve`: /metrics for Prometheus, and a page that says so. It only ever answers GET."""

import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from socketserver import TCPServer, ThreadingMixIn
from threading import Thread
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from prometheus_client import CollectorRegistry, make_wsgi_app

from fleetops import __version__
from fleetops.model.errors import FleetopsError

# A scraper is done within milliseconds; one that dawdles keeps a thread for no longer than this.
_PATIENCE_S = 5.0
_AT_ONCE = 16
_POLL_S = 0.1
_TEXT = ("Content-Type", "text/plain; charset=utf-8")
_PAGE = f"fleetops {__version__}, which sweeps a fleet.\nMetrics for Prometheus: /metrics\n"

Start = Callable[[str, list[tuple[str, str]]], object]
App = Callable[[Mapping[str, Any], Start], Iterable[bytes]]


Address = tuple[str, int]
"""Where to listen; port 0 is any that is free."""


@contextmanager
def serving(address: Address, registry: CollectorRegistry) -> Iterator[str]:
    """Answers from a thread of its own until the block ends, and then no more; the URL. Raises FleetopsError."""
    server = _listening(address)
    server.set_app(_app(registry))
    thread = Thread(target=server.serve_forever, args=(_POLL_S,), name="exporter")
    try:
        thread.start()
        yield f"http://{_spelled(address[0], server.server_port)}"
    finally:
        if thread.ident is not None:
            server.shutdown()
            thread.join()
        server.close()


def _listening(address: Address) -> "_Server":
    try:
        found = socket.getaddrinfo(*address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, *_, place = found[0]
        return _Server(family, place)
    except OSError as error:
        raise FleetopsError(
            f"cannot listen on {_spelled(*address)}: {error.strerror}",
            hint=f"another port, or see who has it: ss -ltnp 'sport = :{address[1]}'",
        ) from error


def _spelled(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class _Handler(WSGIRequestHandler):
    """Neither talks nor waits for ever."""

    timeout = _PATIENCE_S

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Say nothing: a scrape every few seconds is no news."""


class _Server(ThreadingMixIn, WSGIServer):
    """One thread a request, so that a slow reader delays nobody; few at a time; all ended when it is closed."""

    daemon_threads = False

    def __init__(self, family: int, place: Any) -> None:
        self.address_family = family
        self._open: set[Any] = set()
        super().__init__(place, _Handler)

    def server_bind(self) -> None:
        """As the library does, less its question to the DNS for this machine's name."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]
        self.setup_environ()

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Refuse what is too much at once."""
        del request, client_address
        return len(self._open) < _AT_ONCE

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remember it while it lasts."""
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget it."""
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is nobody's error."""

    def close(self) -> None:
        """End what still goes on, and wait for its threads: none has anything to wait for any more."""
        for request in tuple(self._open):
            try:
                request.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        self.server_close()


def _app(registry: CollectorRegistry) -> App:
    metrics: App = make_wsgi_app(registry)

    def answer(environ: Mapping[str, Any], start: Start) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] != "GET":
            return _say(start, HTTPStatus.METHOD_NOT_ALLOWED, "only GET is answered\n", ("Allow", "GET"))
        if environ["PATH_INFO"] == "/":
            return _say(start, HTTPStatus.OK, _PAGE)
        if environ["PATH_INFO"] != "/metrics":
            return _say(start, HTTPStatus.NOT_FOUND, "there are / and /metrics\n")
        try:
            return metrics(environ, start)
        except Exception as error:  # noqa: BLE001 - the last wall: the sweeps go on, and Prometheus sees a failed scrape
            told = f"a defect in fleetops itself: {type(error).__name__}: {error}\n"
            return _say(start, HTTPStatus.INTERNAL_SERVER_ERROR, told)

    return answer


def _say(start: Start, status: HTTPStatus, text: str, *headers: tuple[str, str]) -> list[bytes]:
    start(f"{status.value} {status.phrase}", [_TEXT, *headers])
    return [text.encode()]
