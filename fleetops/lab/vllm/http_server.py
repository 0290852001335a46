"""The API server's endpoints. /health tells whether the engine core is known to be dead, and nothing else."""

import json
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from fleetops.lab.engine.requests import Requests
from fleetops.lab.vllm import answers
from fleetops.lab.vllm.log import uvicorn
from fleetops.lab.vllm.service import VERSION, Service

_GUARDED = "/v1"


class Server(ThreadingHTTPServer):
    """Listens on the service's port. Raises OSError where somebody else does."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, service: Service, requests: Requests) -> None:
        self.service = service
        self.requests = requests
        self.dead = False
        super().__init__((service.args["host"], service.args["port"]), Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is nobody's error."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self._dispatch(_READING)

    def do_POST(self) -> None:
        self._dispatch(_ASKING)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's name)
        """Uvicorn's access line is written when the answer's status is known."""

    def _dispatch(self, known: dict[str, Callable[["Handler", bytes], None]]) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        key = self.server.service.args["api_key"]
        if key and path.startswith(_GUARDED) and self.headers.get("Authorization") != f"Bearer {key}":
            self._answer({"error": "Unauthorized"}, HTTPStatus.UNAUTHORIZED)
        elif path in known:
            known[path](self, body)
        elif path in {**_READING, **_ASKING}:
            self._answer({"detail": "Method Not Allowed"}, HTTPStatus.METHOD_NOT_ALLOWED)
        else:
            self._answer({"detail": "Not Found"}, HTTPStatus.NOT_FOUND)

    def health(self, _body: bytes) -> None:
        self._raw(b"", "text/plain", HTTPStatus.SERVICE_UNAVAILABLE if self.server.dead else HTTPStatus.OK)

    def models(self, _body: bytes) -> None:
        self._answer(answers.models(self.server.service))

    def version(self, _body: bytes) -> None:
        self._answer({"version": VERSION})

    def load(self, _body: bytes) -> None:
        self._answer({"server_load": 0})

    def metrics(self, _body: bytes) -> None:
        text = answers.metrics(self.server.service, self.server.requests)
        self._raw(text.encode(), "text/plain; version=1.0.0; charset=utf-8")

    def complete(self, body: bytes) -> None:
        """Generate, all at once or as a stream of events."""
        try:
            asked = answers.Completion(json.loads(body), self.server.service)
        except (ValueError, KeyError, TypeError) as error:
            self._answer(answers.error(str(error), "BadRequestError", 400), HTTPStatus.BAD_REQUEST)
            return
        if not asked.is_known:
            said = f"The model `{asked.name}` does not exist."
            self._answer(answers.error(said, "NotFoundError", 404, "model"), HTTPStatus.NOT_FOUND)
            return
        requests = self.server.requests
        pending = requests.generate(asked.prompt, asked.limit, ignore_eos=asked.ignore_eos)
        asked.begin(pending)
        if not asked.stream:
            self._answer(asked.whole(list(requests.pieces(pending))))
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
        self._note(HTTPStatus.OK)

    def _event(self, data: str) -> None:
        self.wfile.write(f"data: {data}\n\n".encode())

    def _answer(self, body: answers.Body, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._raw(json.dumps(body, separators=(",", ":")).encode(), "application/json", status)

    def _raw(self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self._note(status)

    def _note(self, status: HTTPStatus) -> None:
        host, port = self.client_address[:2]
        uvicorn(f'{host}:{port} - "{self.command} {self.path} HTTP/1.1" {status.value} {status.phrase}')


_READING: dict[str, Callable[[Handler, bytes], None]] = {
    "/health": Handler.health,
    "/ping": Handler.health,
    "/v1/models": Handler.models,
    "/version": Handler.version,
    "/load": Handler.load,
    "/metrics": Handler.metrics,
}
_ASKING: dict[str, Callable[[Handler, bytes], None]] = {"/v1/completions": Handler.complete}
