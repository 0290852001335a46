"""What SGLang's endpoints are asked, and how their answers are read."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetops.engines import PoolSizes, engine
from fleetops.engines.support.prometheus import Sample, samples

SGLANG = engine("sglang")

METRICS = """\
# HELP sglang:max_total_num_tokens Maximum total number of tokens in the KV cache pool.
# TYPE sglang:max_total_num_tokens gauge
sglang:max_total_num_tokens{engine_type="unified",model_name="/models/a\\"b",tp_rank="0"} 231120.0
sglang:max_total_num_tokens{engine_type="unified",model_name="/models/a\\"b",tp_rank="1"} 2.3112e+05
sglang:hicache_host_total_tokens{model_name="/models/a",tp_rank="0"} 683072.0
sglang:hicache_host_total_tokens{model_name="/models/a",tp_rank="1"} 683072.0 1764417600000
sglang:num_running_reqs{tp_rank="0"} NaN
broken line {
"""


def test_a_generation_asks_for_so_many_tokens_whatever_the_model_would_end_on():
    method, path, body = SGLANG.generate("Hello", 16, "")
    asked = json.loads(body)
    assert (method, path) == ("POST", "/generate")
    assert asked["sampling_params"]["max_new_tokens"] == 16
    assert asked["sampling_params"]["ignore_eos"] is True


def test_a_generation_is_counted_by_the_engine():
    found = SGLANG.parse_generation(b'{"text": " there", "meta_info": {"completion_tokens": 16}}')
    assert (found.tokens, found.text) == (16, " there")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error": {"message": "The input is too long"}}', "The input is too long"),
        (b'{"detail": "Not Found"}', "Not Found"),
        (b'{"text": "no count"}', "without the expected fields"),
        (b"[]", "JSON object"),
        (b"<html>", "Expecting value"),
        (b"\xff\xfe", "Expecting value"),
    ],
)
def test_an_error_body_is_no_generation(body, said):
    with pytest.raises(ValueError, match=said):
        SGLANG.parse_generation(body)


def test_server_info_tells_the_device_pool_of_one_rank():
    body = (
        b'{"version": "0.5.9", "hicache_size": 48, "max_total_num_tokens": 231120, "internal_states": [{}]}'
    )
    assert SGLANG.parse_info(body) == (PoolSizes(device_tokens=231120),)
    with pytest.raises(ValueError, match="without the expected fields"):
        SGLANG.parse_info(b'{"version": "0.5.9"}')


def test_metrics_tell_the_pools_of_each_rank():
    assert SGLANG.parse_metrics(METRICS) == (
        PoolSizes(rank="TP0", device_tokens=231120, host_tokens=683072),
        PoolSizes(rank="TP1", device_tokens=231120, host_tokens=683072),
    )
    assert SGLANG.parse_metrics("sglang:num_running_reqs 0.0") == ()


@pytest.mark.parametrize(
    ("name", "own", "maybe"),
    [
        ("/dev/shm/sgl_shm_mm_4121_ab12", True, False),
        ("multi_tokenizer_args_4121", True, False),
        ("/dev/shm/psm_1f2e", False, True),
        ("/dev/shm/nccl-a1B2c3", False, True),
        ("/dev/shm/pulse-shm-1", False, False),
        ("sysv:12", False, False),
    ],
)
def test_shared_memory_is_known_by_its_name(name, own, maybe):
    assert (SGLANG.owns_segment(name), SGLANG.may_own_segment(name)) == (own, maybe)


labels = st.dictionaries(
    st.from_regex(r"[a-z_][a-z0-9_]*", fullmatch=True),
    st.text(alphabet=st.characters(exclude_characters="\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")),
)


@given(labels, st.floats(allow_nan=False))
def test_samples_are_read_as_the_exposition_format_writes_them(given_labels, value):
    def escaped(text):
        return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

    written = ",".join(f'{name}="{escaped(text)}"' for name, text in given_labels.items())
    assert list(samples(f"some:metric{{{written}}} {value!r}")) == [
        Sample("some:metric", value, given_labels)
    ]


@given(st.binary())
def test_no_body_breaks_the_parsers_otherwise_than_promised(body):
    for parse in (SGLANG.parse_generation, SGLANG.parse_info):
        with contextlib.suppress(ValueError):
            parse(body)
