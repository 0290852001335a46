"""An OpenAI-compatible service in a thread of this process, that does what a test tells it to."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[["Handler", dict[str, Any]], None]


@dataclass
class FakeService:
    """What it answers, and what it was asked.

    Attributes:
        answer: writes the answer to one completion.
        asked: the bodies of the completions, in the order in which they came.
        most: how many were under way at once at the most.
        key: the API key that it wants.
    """

    answer: Answer
    key: str = ""
    metrics: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    most: int = 0
    port: int = 0
    closing: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    under_way: int = 0

    def begun(self, body: dict[str, Any], headers: dict[str, str]) -> None:
        with self.lock:
            self.asked.append(body)
            self.headers.append(headers)
            self.under_way += 1
            self.most = max(self.most, self.under_way)

    def ended(self) -> None:
        """Before its client can know: it asks for the next one at once."""
        with self.lock:
            self.under_way -= 1


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    is_under_way = False

    @property
    def service(self) -> FakeService:
        return self.server.service

    def do_GET(self) -> None:
        if self.path == "/metrics":
            self.say(self.service.metrics.encode(), "text/plain", 200 if self.service.metrics else 404)
        elif self.service.key and self.headers.get("Authorization") != f"Bearer {self.service.key}":
            self.say_json({"error": "Unauthorized"}, 401)
        else:
            self.say_json({"object": "list", "data": [{"id": "some-model"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.service.begun(body, dict(self.headers))
        self.is_under_way = True
        try:
            self.service.answer(self, body)
        finally:
            self.ended()

    def ended(self) -> None:
        if self.is_under_way:
            self.is_under_way = False
            self.service.ended()

    def say(self, body: bytes, kind: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def say_json(self, body: object, status: int = 200) -> None:
        self.say(json.dumps(body).encode(), "application/json", status)

    def begin(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def event(self, body: object) -> None:
        if body == "[DONE]":
            self.ended()
        self.chunk(f"data: {body if isinstance(body, str) else json.dumps(body)}\n\n".encode())

    def end(self) -> None:
        self.ended()
        self.chunk(b"")

    def hang_up(self) -> None:
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """Who hangs up is nobody's error."""


@contextmanager
def serving(answer: Answer, **more: Any) -> Iterator[FakeService]:
    with Server(("127.0.0.1", 0), Handler) as server:
        server.service = service = FakeService(answer, **more)
        service.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield service
        finally:
            service.closing.set()
            server.shutdown()
            thread.join(5)


def text(finish: str | None = None, text: str = " x") -> dict[str, Any]:
    return {"choices": [{"index": 0, "text": text, "finish_reason": finish}], "usage": None}


def counts(prompt: int, output: int, **more: Any) -> dict[str, Any]:
    usage = {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}
    return {"choices": [], "usage": usage | more}


def streamed(*, step_s: float = 0.0, tokens_per_word: float = 1.0, events_of: int = 1) -> Answer:
    """As SGLang and vLLM stream: an event for every `events_of` tokens, the counts, the end."""

    def answer(to: Handler, body: dict[str, Any]) -> None:
        limit = body["max_tokens"]
        to.begin()
        for done in range(0, limit, events_of):
            if step_s:
                time.sleep(step_s)
            to.event(text("length" if done + events_of >= limit else None))
        to.event(counts(round(len(body["prompt"].split()) * tokens_per_word), limit))
        to.event("[DONE]")
        to.end()

    return answer
