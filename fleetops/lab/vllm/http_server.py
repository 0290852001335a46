"""The API server's endpoints. /health tells whether the engine core is known to be dead, and nothing else."""

import json
from collections.abc import Callable
from http import HTTPStatus

from fleetops.lab.engine.answering import Answering, Listener
from fleetops.lab.engine.requests import Requests
from fleetops.lab.vllm import answers
from fleetops.lab.vllm.log import uvicorn
from fleetops.lab.vllm.service import VERSION, Service

_GUARDED = "/v1"


class Server(Listener):
    """Listens on the service's port. Raises OSError where somebody else does."""

    def __init__(self, service: Service, requests: Requests) -> None:
        self.service = service
        self.requests = requests
        self.dead = False
        super().__init__((service.args["host"], service.args["port"]), Handler)


class Handler(Answering):
    """One connection."""

    server: Server

    def answered(self, status: HTTPStatus) -> None:
        """The access line comes with the answer's end."""
        uvicorn(self.access(status))

    def dispatch(self) -> None:
        """Those that read and those that ask, behind the key."""
        known = _READING if self.command == "GET" else _ASKING
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.partition("?")[0]
        key = self.server.service.args["api_key"]
        if key and path.startswith(_GUARDED) and self.headers.get("Authorization") != f"Bearer {key}":
            self.answer({"error": "Unauthorized"}, HTTPStatus.UNAUTHORIZED)
        elif path in known:
            known[path](self, body)
        elif path in {**_READING, **_ASKING}:
            self.answer({"detail": "Method Not Allowed"}, HTTPStatus.METHOD_NOT_ALLOWED)
        else:
            self.answer({"detail": "Not Found"}, HTTPStatus.NOT_FOUND)

    def health(self, _body: bytes) -> None:
        self.raw(b"", "text/plain", HTTPStatus.SERVICE_UNAVAILABLE if self.server.dead else HTTPStatus.OK)

    def models(self, _body: bytes) -> None:
        self.answer(answers.models(self.server.service))

    def version(self, _body: bytes) -> None:
        self.answer({"version": VERSION})

    def load(self, _body: bytes) -> None:
        self.answer({"server_load": 0})

    def metrics(self, _body: bytes) -> None:
        text = answers.metrics(self.server.service, self.server.requests)
        self.raw(text.encode(), "text/plain; version=1.0.0; charset=utf-8")

    def complete(self, body: bytes) -> None:
        """Generate, all at once or as a stream of events."""
        try:
            asked = answers.Completion(json.loads(body), self.server.service)
        except (ValueError, KeyError, TypeError) as error:
            self.answer(answers.error(str(error), "BadRequestError", 400), HTTPStatus.BAD_REQUEST)
            return
        if not asked.is_known:
            said = f"The model `{asked.name}` does not exist."
            self.answer(answers.error(said, "NotFoundError", 404, "model"), HTTPStatus.NOT_FOUND)
            return
        self.generate(self.server.requests, asked)


_READING: dict[str, Callable[[Handler, bytes], None]] = {
    "/health": Handler.health,
    "/ping": Handler.health,
    "/v1/models": Handler.models,
    "/version": Handler.version,
    "/load": Handler.load,
    "/metrics": Handler.metrics,
}
_ASKING: dict[str, Callable[[Handler, bytes], None]] = {"/v1/completions": Handler.complete}
