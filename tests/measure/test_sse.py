"""Server-sent events and OpenAI's answers: any cut of the bytes gives the same, and what is wrong is told apart."""

import contextlib
import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleetops.engines.support.openai import (
    DONE,
    Complaint,
    Events,
    complaint_in,
    completion,
    read_models,
    read_part,
)
from fleetops.model.load import Usage

TEXT = st.text(st.characters(exclude_characters="\r\n", codec="utf-8"))
LINE_END = st.sampled_from(["\n", "\r\n", "\r"])
USAGE = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}


@st.composite
def cuts(draw, data: bytes):
    """The bytes, cut anywhere."""
    places = sorted(draw(st.sets(st.integers(0, len(data)))))
    edges = [0, *places, len(data)]
    return [data[begin:end] for begin, end in itertools.pairwise(edges)]


def parse(pieces) -> list[str]:
    events = Events()
    found = [data for piece in pieces for data in events.feed(piece)]
    return [*found, *events.end()]


@settings(deadline=None)
@given(st.data(), st.lists(TEXT, min_size=1), LINE_END)
def test_any_cut_gives_the_events_that_were_sent(data, sent, end):
    stream = "".join(f"data: {text}{end}{end}" for text in sent).encode()
    assert parse(data.draw(cuts(stream))) == sent


@settings(deadline=None)
@given(st.data(), st.binary(max_size=200))
def test_any_cut_of_any_bytes_gives_the_same(data, stream):
    assert parse(data.draw(cuts(stream))) == parse([stream])


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_one_byte_at_a_time_gives_the_same_whatever_the_line_ends(stream):
    sent = b"data: " + stream.replace(b"\n", b"\r") + b"\r\n\r\ndata: last\n\n"
    assert parse(sent[i : i + 1] for i in range(len(sent))) == parse([sent])


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b"data:a\n\n", ["a"]),
        (b"data:  a\n\n", [" a"]),
        (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
        (b": a comment\n\ndata: a\n\n", ["a"]),
        (b"event: message\nid: 7\nretry: 3\ndata: a\n\n", ["a"]),
        (b"data\n\n", [""]),
        (b"\n\n\ndata: a\n\n\n\n", ["a"]),
        (b"data: a\n\ndata: half", ["a"]),
        (b"data: a\n\ndata: [DONE]", ["a", DONE]),
        (b"data: a\n\ndata: [DONE]\n", ["a", DONE]),
        (b"data: a\n\ndata: {\ndata: [DONE]", ["a"]),
        (b"data: \xf0\x9f\x98\x80\n\n", ["\U0001f600"]),
        (b"data: \xff\n\n", ["\ufffd"]),
    ],
)
def test_the_form(stream, events):
    assert parse([stream]) == events


def test_a_line_without_an_end_does_not_take_all_memory():
    events = Events()
    for _ in range(8):
        events.feed(b"x" * 1_000_000)
    with pytest.raises(ValueError, match="a line of more than"):
        events.feed(b"x" * 1_000_000)


def test_a_chunk_of_a_stream():
    assert read_part('{"choices": [{"text": " a", "finish_reason": null}], "usage": null}').gave
    empty = read_part('{"choices": [{"text": "", "finish_reason": null}]}')
    assert (empty.gave, empty.ended) == (True, False)  # half a character: a token all the same
    last = read_part('{"choices": [{"text": "", "finish_reason": "length"}]}')
    assert (last.gave, last.ended) == (False, True)
    both = read_part('{"choices": [{"text": " z", "finish_reason": "length"}]}')
    assert (both.gave, both.ended) == (True, True)
    counts = read_part(json.dumps({"choices": [], "usage": USAGE}))
    assert (counts.gave, counts.usage) == (False, Usage(prompt_tokens=12, output_tokens=3))


def test_cached_tokens_are_read_where_they_are_told():
    told = {**USAGE, "prompt_tokens_details": {"cached_tokens": 8}}
    assert read_part(json.dumps({"choices": [], "usage": told})).usage.cached_tokens == 8


@pytest.mark.parametrize(
    "usage",
    [{"prompt_tokens": 1}, {"prompt_tokens": -1, "completion_tokens": 1}, {"prompt_tokens": True}, [], "x"],
)
def test_counts_that_are_none_are_no_counts(usage):
    assert read_part(json.dumps({"choices": [], "usage": usage})).usage is None


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"error": {"message": "queue is full", "code": 503}}', "queue is full"),
        ('{"error": "boom"}', "boom"),
        ('{"object": "error", "message": "too long", "code": 400}', "too long"),
    ],
)
def test_an_error_event_is_what_the_server_says(body, said):
    with pytest.raises(Complaint, match=said):
        read_part(body)


@pytest.mark.parametrize("body", ["", "{", "[]", "null", '"x"', "{}", '{"choices": 7}', "[" * 100_000, "NaN"])
def test_another_form_is_told_apart_from_an_error(body):
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - that it is no Complaint is what matters
        read_part(body)
    assert not isinstance(raised.value, Complaint)


@settings(deadline=None)
@given(st.binary(max_size=100) | st.text().map(lambda text: json.dumps({"choices": [text]}).encode()))
def test_whatever_comes_is_read_or_refused(body):
    with contextlib.suppress(ValueError):
        read_part(body)
    complaint_in(body)


def test_the_served_models_name_is_the_first():
    assert read_models(b'{"data": [{"id": "base"}, {"id": "lora"}]}') == ("base", "lora")


@pytest.mark.parametrize(
    "body", [b"{}", b'{"data": []}', b'{"data": [7]}', b'{"data": {"id": "x"}}', b"<html>"]
)
def test_no_model_is_told_apart(body):
    with pytest.raises(ValueError):  # noqa: PT011
        read_models(body)


def test_a_request_asks_for_an_exact_length_and_the_counts():
    body = json.loads(completion("m", "one two", 7))
    assert (body["model"], body["prompt"], body["max_tokens"]) == ("m", "one two", 7)
    assert (body["temperature"], body["ignore_eos"], body["stream"]) == (0, True, True)
    assert body["stream_options"] == {"include_usage": True}
