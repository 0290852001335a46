"""What the stand-ins' HTTP servers have in common: JSON answers, and generations whole or as a stream of events."""

import json
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

from fleetops.lab.engine.requests import Pending, Piece, Requests


class Asked(Protocol):
    """What a client asked for, in one endpoint's form."""

    prompt: str
    limit: int | None
    ignore_eos: bool
    stream: bool

    def begin(self, pending: Pending) -> None:
        """The request is on its way."""

    def whole(self, pieces: list[Piece]) -> dict[str, Any]:
        """The answer as one."""

    def parts(self, piece: Piece) -> Iterator[dict[str, Any]]:
        """One piece of a streamed answer."""


class Listener(ThreadingHTTPServer):
    """A thread for each connection."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is nobody's error."""


class Answering(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.dispatch()

    def do_POST(self) -> None:
        self.dispatch()

    def dispatch(self) -> None:
        """Answer the request, by its method and path."""
        raise NotImplementedError

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's name)
        """Uvicorn's access line is written when the answer's status is known."""

    def answered(self, status: HTTPStatus) -> None:
        """An answer has gone out, a stream to its end."""

    def access(self, status: HTTPStatus) -> str:
        """Uvicorn's access line."""
        host, port = self.client_address[:2]
        return f'{host}:{port} - "{self.command} {self.path} HTTP/1.1" {status.value} {status.phrase}'

    def answer(self, body: object, status: HTTPStatus = HTTPStatus.OK) -> None:
        """JSON, as compact as there."""
        self.raw(json.dumps(body, separators=(",", ":")).encode(), "application/json", status)

    def raw(self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        """Bytes of this content type."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.answered(status)

    def generate(self, requests: Requests, asked: Asked) -> None:
        """All at once or as a stream of events; a client that hangs up ends its request."""
        pending = requests.generate(asked.prompt, asked.limit, ignore_eos=asked.ignore_eos)
        asked.begin(pending)
        if not asked.stream:
            self.answer(asked.whole(list(requests.pieces(pending))))
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            for piece in requests.pieces(pending):
                for part in asked.parts(piece):
                    self._event(json.dumps(part, separators=(",", ":")))
            self._event("[DONE]")
        except OSError:
            requests.abort(pending)
        self.close_connection = True
        self.answered(HTTPStatus.OK)

    def _event(self, data: str) -> None:
        self.wfile.write(f"data: {data}\n\n".encode())
