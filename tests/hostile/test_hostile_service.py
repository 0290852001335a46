"""What an engine's log, metrics and API say when they are broken: a value, or the error that is promised."""

import contextlib
import json
import re
from functools import reduce

import pytest
from hostile_examples import examples
from hostile_text import ESCAPES, SPITEFUL, broken
from hypothesis import given
from hypothesis import strategies as st

from fleetops.engines import engines
from fleetops.engines.support import openai
from fleetops.model.engine import LogReport
from fleetops.ssh import http

LOG = (
    "[2026-11-29 12:00:00 TP0] server_args=ServerArgs(model_path='/models/example', hicache_size=48)\n"
    "[TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 231120, KV size: 15.13 GB\n"
    "[TP0] max_total_num_tokens=231120, chunked_prefill_size=8192, context_len=163840\n"
    "[TP0] Allocating kv hierarchical KV host pool: 683072 tokens, 48.00 GB host memory.\n"
    "Loading safetensors checkpoint shards:  50% Completed | 1/2 [00:01<00:01,  1.02s/it]\n"
    "[TP0] Sync fixed-size HiCache host token capacity from 10 to 9\n"
    "(EngineCore_0 pid=1) INFO 11-29 12:00:00 [kv_cache_utils.py:1] GPU KV cache size: 231,120 tokens\n"
    "(Worker pid=1) INFO [cpu_gpu.py:1] Allocating 40.00 GiB\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
)
METRICS = (
    'sglang:max_total_num_tokens{tp_rank="0",pp_rank="0"} 231120.0\n'
    'sglang:hicache_host_total_tokens{tp_rank="0"} 683072.0\n'
    'sglang:num_running_reqs{dp_rank="0"} 3.0\nsglang:num_queue_reqs{dp_rank="0"} 1.0\n'
    'vllm:num_requests_running{engine="0"} 3.0\nvllm:num_requests_waiting{engine="0"} 1.0\n'
    'vllm:cache_config_info{engine="0",kv_cache_size_tokens="231120",num_gpu_blocks="100"} 1.0\n'
)
ANSWERS = (
    '{"text": "two", "meta_info": {"completion_tokens": 5}}',
    '{"max_total_num_tokens": 231120, "internal_states": [{}]}',
    '{"object": "list", "data": [{"id": "example", "object": "model"}]}',
    '{"choices": [{"text": "two", "finish_reason": "length"}], "usage": {"prompt_tokens": 3, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 1}}}',
    '{"error": {"message": "no", "code": 401}}',
)
NUMBERS = ("NaN", "+Inf", "-Inf", "1e999", "-1e999", "9" * 400, "-0", "0x1", "1_0", "²", "")
ENGINES = pytest.mark.parametrize("engine", engines(), ids=lambda one: one.name)
ANSWER_KEYS = sorted(set(re.findall(r'"(\w+)":', "".join(ANSWERS))) | {"message", "detail", "finish_reason"})
PARSERS = ("parse_generation", "parse_info")

values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(ANSWER_KEYS),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=15,
)
bodies = st.one_of(
    broken(ANSWERS).map(lambda text: text.encode("utf-8", "surrogatepass")),
    values.map(lambda value: json.dumps(value).encode()),
    st.sampled_from([b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe", b"", b"\0", b'"\\ud800"']),
    st.binary(max_size=20),
)


@ENGINES
@given(text=broken((LOG,)))
@examples(80)
def test_a_broken_log_is_read_to_its_end(engine, text):
    report = reduce(engine.fold, text.split("\n"), LogReport())
    assert isinstance(report.progress, str)


@ENGINES
@pytest.mark.parametrize("number", NUMBERS)
def test_a_log_with_an_odd_number_is_read_to_its_end(engine, number):
    for word in ("231120", "683072", "48.00", "231,120", "40.00", "1/2"):
        engine.read_log(LOG.replace(word, number or "0").splitlines())


@ENGINES
@given(text=broken((METRICS,)))
@examples(80)
def test_broken_metrics_are_read_as_far_as_they_go(engine, text):
    engine.parse_metrics(text)
    engine.parse_others(text)


@ENGINES
@pytest.mark.parametrize("number", NUMBERS)
def test_metrics_without_a_number_say_nothing(engine, number):
    text = "".join(f"{line.rpartition(' ')[0]} {number}\n" for line in METRICS.splitlines())
    pools = engine.parse_metrics(text)
    assert all(pool.host_tokens is None for pool in pools) or number in {"-0", "1_0"}
    engine.parse_others(text)


def _refusal(parse, body):
    """What the promised error says; None where the body was read."""
    try:
        parse(body)
    except ValueError as error:
        return str(error)
    return None


@ENGINES
@given(body=bodies)
@examples(80)
def test_a_broken_answer_is_read_or_refused(engine, body):
    for parse in (getattr(engine, name) for name in PARSERS):
        assert _refusal(parse, body) != ""


@given(body=bodies)
@examples(100)
def test_a_broken_answer_of_the_shared_form_is_read_or_refused(body):
    for parse in (openai.read_models, openai.read_part, openai.read_completion):
        assert _refusal(parse, body) != ""
    assert isinstance(openai.complaint_in(body), str)


@given(pieces=st.lists(st.one_of(st.binary(max_size=8), st.sampled_from([b"data: ", b"\r", b"\n", b"\n\n", b": x", b"[DONE]"])), max_size=12))  # fmt: skip
@examples(80)
def test_a_stream_cut_anywhere_gives_the_same_events(pieces):
    apart, together = openai.Events(), openai.Events()
    found = [data for piece in pieces for data in apart.feed(piece)]
    assert found == together.feed(b"".join(pieces))
    assert apart.end() == together.end()


class _Channel:
    """What came of a request, and then the end."""

    def __init__(self, data):
        self._data = data

    def settimeout(self, _):
        pass

    def sendall(self, _):
        pass

    def recv(self, size):
        piece, self._data = self._data[:size], self._data[size:]
        return piece

    def close(self):
        pass


HEADS = (
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\nhello",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "HTTP/1.1 500 Oops\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n",
)
HTTP_SPITE = (
    "\r\n",
    "\n",
    ":",
    " ",
    "-1",
    "9" * 30,
    "ffffffffffffffff",
    "é",
    "\0",
    "HTTP/9.9",
    "chunked",
    *ESCAPES[:3],
    *SPITEFUL[:8],
)


@given(text=broken(HEADS), piece=st.sampled_from(HTTP_SPITE), at=st.integers(0, 80))
@examples(200)
def test_a_broken_http_answer_is_read_or_an_error_of_the_connection(text, piece, at):
    data = (text[:at] + piece + text[at:]).encode("utf-8", "surrogatepass")
    with contextlib.suppress(OSError), http.stream(_Channel(data), "GET", "/", None, deadline_s=5) as answer:
        assert len(http.whole(answer).body) <= len(data)


def test_an_http_answer_without_end_is_read_to_its_limit():
    class Endless(_Channel):
        def recv(self, size):
            if self._data:
                return super().recv(size)
            return b"x" * size

    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
    with http.stream(Endless(head), "GET", "/", None, deadline_s=20) as answer:
        assert len(http.whole(answer).body) == http.LIMIT_BYTES
