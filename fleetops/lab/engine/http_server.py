"""The HTTP server in the launcher (entrypoints/http_server.py): the endpoints that operators and tools use."""

import json
import os
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fleetops.lab.engine import answers
from fleetops.lab.engine.log import STDOUT, Log
from fleetops.lab.engine.metrics import metrics
from fleetops.lab.engine.requests import Requests
from fleetops.lab.engine.service import Service

VERSION = "0.5.9"
_HEALTH_TIMEOUT_S = float(os.environ.get("SGLANG_HEALTH_CHECK_TIMEOUT", "20"))
_OPEN_PATHS = ("/health", "/health_generate", "/metrics")
_DEPRECATED = {"/get_model_info": "/model_info", "/get_server_info": "/server_info"}


class State:
    """What the endpoints look at. `up` once warm, `stopping` after SIGTERM."""

    def __init__(self, service: Service, requests: Requests, log: Log, found: dict[str, Any]) -> None:
        self.service = service
        self.requests = requests
        self.log = log
        self.found = found
        self.up = False
        self.stopping = False

    def warm_up(self) -> None:
        """The request that the real server sends to itself before it calls itself ready."""
        for _ in self.requests.pieces(self.requests.generate("The capital city of France is", 8)):
            continue

    def is_healthy(self) -> bool:
        """Whether anything at all comes from the detokenizer within the timeout, a token of our own if need be."""
        began = time.time()
        probe = self.requests.generate("", 1, rid=f"HEALTH_CHECK_{began}")
        with self.requests.heard:
            heard = self.requests.heard.wait_for(lambda: self.requests.last_heard > began, _HEALTH_TIMEOUT_S)
        self.requests.forget(probe)
        if not heard:
            last = time.strftime("%H:%M:%S", time.localtime(self.requests.last_heard))
            start = time.strftime("%H:%M:%S", time.localtime(began))
            self.log.line(
                "Health check failed. Server couldn't get a response from detokenizer for last "
                f"{_HEALTH_TIMEOUT_S:.0f} seconds. tic start time: {start}. last_heartbeat time: {last}"
            )
        return heard


class Server(ThreadingHTTPServer):
    """Listens on the service's port. Raises OSError where somebody else does."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], state: State) -> None:
        self.state = state
        super().__init__(address, Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is nobody's error."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self._dispatch()

    def do_POST(self) -> None:
        self._dispatch()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's name)
        """Uvicorn's access line is written when the answer's status is known."""

    def _dispatch(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        path = self.path.partition("?")[0]
        state = self.server.state
        key = state.service.args["api_key"]
        if key and path not in _OPEN_PATHS and self.headers.get("Authorization") != f"Bearer {key}":
            self._answer({"error": "Unauthorized"}, HTTPStatus.UNAUTHORIZED)
            return
        if path in _DEPRECATED:
            state.log.line(
                f"Endpoint '{path}' is deprecated and will be removed in a future version. "
                f"Please use '{_DEPRECATED[path]}' instead."
            )
            path = _DEPRECATED[path]
        reading, asking = _READING.get(path), _ASKING.get(path)
        if self.command == "GET" and reading:
            reading(self)
        elif self.command == "POST" and asking:
            self._ask(asking, body)
        elif reading or asking:
            self._answer({"detail": "Method Not Allowed"}, HTTPStatus.METHOD_NOT_ALLOWED)
        else:
            self._answer({"detail": "Not Found"}, HTTPStatus.NOT_FOUND)

    def health(self) -> None:
        """503 while starting and while stopping, else whether a token can be generated."""
        state = self.server.state
        plain = (
            os.environ.get("SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION", "").lower() in {"false", "0"}
            and self.path.partition("?")[0] == "/health"
        )
        if state.stopping:
            state.log.line("Health check request received during shutdown. Returning 503.")
        fine = state.up and not state.stopping and (plain or state.is_healthy())
        self._raw(b"", "text/plain", HTTPStatus.OK if fine else HTTPStatus.SERVICE_UNAVAILABLE)

    def models(self) -> None:
        self._answer(answers.models(self.server.state.service))

    def model_info(self) -> None:
        self._answer(answers.model_info(self.server.state.service))

    def server_info(self) -> None:
        state = self.server.state
        inner = state.requests.internal_state()
        facts = {**state.service.args, **state.found, "internal_states": [inner], "version": VERSION}
        self._answer(facts)

    def metrics(self) -> None:
        """Only with --enable-metrics, as there."""
        state = self.server.state
        if not state.service.args["enable_metrics"]:
            self._answer({"detail": "Not Found"}, HTTPStatus.NOT_FOUND)
            return
        text = metrics(state.service, state.requests)
        self._raw(text.encode(), "text/plain; version=0.0.4; charset=utf-8", HTTPStatus.OK)

    def _ask(self, form: type[answers.Form], body: bytes) -> None:
        """Generate, all at once or as a stream of events."""
        try:
            asked = form(json.loads(body), self.server.state.service)
        except (ValueError, KeyError, TypeError) as error:
            message = {"object": "error", "message": str(error), "type": "BadRequestError", "code": 400}
            self._answer({**message, "param": None}, HTTPStatus.BAD_REQUEST)
            return
        requests = self.server.state.requests
        pending = requests.generate(asked.prompt, asked.limit, ignore_eos=asked.ignore_eos)
        asked.begin(pending)
        if not asked.stream:
            pieces = list(requests.pieces(pending))
            self._answer(asked.whole(pieces))
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

    def _event(self, data: str) -> None:
        self.wfile.write(f"data: {data}\n\n".encode())

    def _answer(self, body: object, status: HTTPStatus = HTTPStatus.OK) -> None:
        self._raw(json.dumps(body, separators=(",", ":")).encode(), "application/json", status)

    def _raw(self, body: bytes, kind: str, status: HTTPStatus) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:  # noqa: ARG002
        """As uvicorn's access log."""
        host, port = self.client_address[:2]
        status = HTTPStatus(int(code))
        self.server.state.log.uvicorn(
            f'{host}:{port} - "{self.command} {self.path} HTTP/1.1" {status.value} {status.phrase}',
            stream=STDOUT,
        )


_READING: dict[str, Callable[[Handler], None]] = {
    "/health": Handler.health,
    "/health_generate": Handler.health,
    "/v1/models": Handler.models,
    "/model_info": Handler.model_info,
    "/server_info": Handler.server_info,
    "/metrics": Handler.metrics,
}
_ASKING: dict[str, type[answers.Form]] = {
    "/generate": answers.Native,
    "/v1/completions": answers.Completion,
    "/v1/chat/completions": answers.Chat,
}
