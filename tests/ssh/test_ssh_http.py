"""HTTP to a port of the host's own loopback, through the SSH connection."""

import threading
import time
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from ssh_site import ADDRESS, free_port, node

from fleetops.model.errors import ConnectionLost


class Engine(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/slow":
            self.server.release.wait(20)
        if self.path == "/trickle":
            self.trickle()
            return
        if self.path == "/garbage":
            self.wfile.write(b"this is not HTTP\r\n\r\n")
            self.close_connection = True
            return
        self.answer(503 if self.path == "/health" else 200, self.path.encode() * 100_000)

    def do_POST(self):
        self.answer(
            200, self.headers["Content-Type"].encode() + self.rfile.read(int(self.headers["Content-Length"]))
        )

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def trickle(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        while not self.server.release.wait(0.05):
            self.wfile.write(b"x")

    def log_message(self, *_):
        pass


@contextmanager
def serving():
    with ThreadingHTTPServer((ADDRESS, 0), Engine) as server:
        server.release = threading.Event()
        server.handle_error = lambda *_: None
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.release.set()
        server.shutdown()


@pytest.fixture
def port():
    with serving() as number:
        yield number


def test_an_answer_comes_back_whole(session, port):
    answer = session.request(port, "GET", "/v1/models")
    assert (answer.status, answer.body) == (200, b"/v1/models" * 100_000)


def test_a_bad_status_is_an_answer(session, port):
    assert session.request(port, "GET", "/health").status == 503


def test_a_body_is_sent_as_json(session, port):
    assert (
        session.request(port, "POST", "/generate", b'{"text": "x"}').body == b'application/json{"text": "x"}'
    )


def test_a_port_without_a_listener_refuses(session):
    with pytest.raises(ConnectionRefusedError):
        session.request(free_port(), "GET", "/")


def test_an_answer_can_be_read_while_it_comes_and_many_at_once_share_the_connection(session, port):
    with ExitStack() as stack:
        answers = [
            stack.enter_context(session.stream(port, "GET", "/trickle", deadline_s=20)) for _ in range(20)
        ]
        assert {next(answer.pieces)[:1] for answer in answers} == {b"x"}


def test_a_header_of_ones_own_is_sent(session, port):
    with session.stream(port, "POST", "/", b"", headers={"Content-Type": "text/plain"}) as answer:
        assert b"".join(answer.pieces) == b"text/plain"


@pytest.mark.parametrize("path", ["/slow", "/trickle"])
def test_the_deadline_holds_for_the_whole_answer(session, port, path):
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        session.request(port, "GET", path, deadline_s=0.5)
    assert time.monotonic() - began < 5


def test_what_is_not_http_is_an_os_error(session, port):
    with pytest.raises(OSError, match="not an HTTP answer"):
        session.request(port, "GET", "/garbage")


def test_a_path_cannot_smuggle_a_second_request(session, port):
    with pytest.raises(OSError, match="not an HTTP answer"):
        session.request(port, "GET", "/x HTTP/1.1\r\nHost: y\r\n\r\nGET /z")


def test_a_connection_that_breaks_during_a_request_is_lost(site, port):
    server = site.serve()
    with site.connections() as connections:
        session = connections.session(node(server))
        session.batch([])
        threading.Timer(0.5, server.cut).start()
        with pytest.raises(ConnectionLost):
            session.request(port, "GET", "/slow", deadline_s=20)
