"""The HTTP server in the launcher (entrypoints/http_server.py): the endpoints that operators and tools use."""

import json
import os
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from fleetops.lab.engine import answers
from fleetops.lab.engine.answering import Answering, Listener
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


class Server(Listener):
    """Listens on the service's port. Raises OSError where somebody else does."""

    def __init__(self, address: tuple[str, int], state: State) -> None:
        self.state = state
        super().__init__(address, Handler)


class Handler(Answering):
    """One connection."""

    server: Server

    def dispatch(self) -> None:
        """Those that read and those that ask, behind the key."""
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        path = self.path.partition("?")[0]
        state = self.server.state
        key = state.service.args["api_key"]
        if key and path not in _OPEN_PATHS and self.headers.get("Authorization") != f"Bearer {key}":
            self.answer({"error": "Unauthorized"}, HTTPStatus.UNAUTHORIZED)
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
            self.answer({"detail": "Method Not Allowed"}, HTTPStatus.METHOD_NOT_ALLOWED)
        else:
            self.answer({"detail": "Not Found"}, HTTPStatus.NOT_FOUND)

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
        self.raw(b"", "text/plain", HTTPStatus.OK if fine else HTTPStatus.SERVICE_UNAVAILABLE)

    def models(self) -> None:
        self.answer(answers.models(self.server.state.service))

    def model_info(self) -> None:
        self.answer(answers.model_info(self.server.state.service))

    def server_info(self) -> None:
        state = self.server.state
        inner = state.requests.internal_state()
        facts = {**state.service.args, **state.found, "internal_states": [inner], "version": VERSION}
        self.answer(facts)

    def metrics(self) -> None:
        """Only with --enable-metrics, as there."""
        state = self.server.state
        if not state.service.args["enable_metrics"]:
            self.answer({"detail": "Not Found"}, HTTPStatus.NOT_FOUND)
            return
        text = metrics(state.service, state.requests)
        self.raw(text.encode(), "text/plain; version=0.0.4; charset=utf-8", HTTPStatus.OK)

    def _ask(self, form: type[answers.Form], body: bytes) -> None:
        """Generate, all at once or as a stream of events."""
        try:
            asked = form(json.loads(body), self.server.state.service)
        except (ValueError, KeyError, TypeError) as error:
            message = {"object": "error", "message": str(error), "type": "BadRequestError", "code": 400}
            self.answer({**message, "param": None}, HTTPStatus.BAD_REQUEST)
            return
        self.generate(self.server.state.requests, asked)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:  # noqa: ARG002
        """As uvicorn's access log."""
        self.server.state.log.uvicorn(self.access(HTTPStatus(int(code))), stream=STDOUT)


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
