"""An HTTP answer read while it comes, from a plain socket: whatever the form of its body, and however it is cut."""

import itertools
import socket
import threading
import time
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetops.ssh import http

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\n"
LONG = bytes(range(256)) * 300
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;name=x\r\n world\r\n0\r\n\r\n"
COUNTED = HEAD + b"Content-Length: 11\r\n\r\nhello world"
CLOSED = HEAD + b"Connection: close\r\n\r\nhello world"


@contextmanager
def answering(*pieces, hold=None):
    """A socket whose other end reads the request and sends these pieces."""
    ours, theirs = socket.socketpair()

    def serve():
        with theirs, suppress(BrokenPipeError):
            theirs.recv(65536)
            for piece in pieces:
                theirs.sendall(piece)
            if hold:
                hold.wait(20)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield ours
    finally:
        if hold:
            hold.set()
        ours.close()
        thread.join(5)


def read(channel, deadline_s=5.0):
    with http.stream(channel, "GET", "/", None, deadline_s=deadline_s) as answer:
        return answer.status, answer.content_type, b"".join(answer.pieces)


@pytest.mark.parametrize("answer", [CHUNKED, COUNTED, CLOSED], ids=["chunked", "counted", "closed"])
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_any_cut_of_any_form_gives_the_same(answer, data):
    at = sorted(data.draw(st.sets(st.integers(1, len(answer) - 1), max_size=8)))
    edges = [0, *at, len(answer)]
    pieces = [answer[begin:end] for begin, end in itertools.pairwise(edges)]
    with answering(*pieces) as channel:
        assert read(channel) == (200, "text/event-stream", b"hello world")


def test_a_piece_is_there_as_soon_as_it_has_come():
    hold = threading.Event()
    begun = HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
    with (
        answering(begun, hold=hold) as channel,
        http.stream(channel, "GET", "/", None, deadline_s=5) as answer,
    ):
        assert next(answer.pieces) == b"hello"
        assert not hold.is_set()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (CHUNKED[:-12], "broke off"),
        (CHUNKED.replace(b"6;name=x", b"zz"), "broke off"),
        (COUNTED[:-4], "4 bytes short"),
        (b"", "not an HTTP answer|closed connection"),
        (b"SSH-2.0-x\r\n", "not an HTTP answer"),
    ],
)
def test_an_answer_that_is_not_whole_is_an_error(answer, said):
    with answering(answer) as channel, pytest.raises(OSError, match=said):
        read(channel)


def test_the_deadline_holds_for_the_whole_answer():
    began = time.monotonic()
    with answering(COUNTED[:-1], hold=threading.Event()) as channel, pytest.raises(TimeoutError):
        read(channel, deadline_s=0.2)
    assert time.monotonic() - began < 3


def test_a_large_body_comes_whole():
    length = f"Content-Length: {len(LONG)}\r\n\r\n".encode()
    with (
        answering(HEAD + length + LONG) as channel,
        http.stream(channel, "GET", "/", None, deadline_s=5) as answer,
    ):
        assert http.whole(answer).body == LONG


def test_headers_are_sent():
    seen = []
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(COUNTED)
        with http.stream(
            ours, "POST", "/x", b"{}", deadline_s=5, headers={"Authorization": "Bearer k"}
        ) as answer:
            assert answer.status == 200
            seen.append(theirs.recv(65536))
        assert b"Authorization: Bearer k\r\n" in seen[0]
        assert b"Content-Type: application/json\r\n" in seen[0]


def test_a_header_cannot_smuggle_another_one():
    with (
        answering(COUNTED) as channel,
        pytest.raises(ValueError, match="Invalid header value"),
        http.stream(channel, "GET", "/", None, deadline_s=5, headers={"A": "b\r\nC: d"}),
    ):
        pytest.fail("it was sent")
