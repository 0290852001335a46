"""What vLLM's endpoints are asked, how their answers are read, and the command line that it is started with."""

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_scenes import process, profile

from fleetops.engines import PoolSizes, engine
from fleetops.model.fleet import AUTO, Flag
from fleetops.model.load import Others

VLLM = engine("vllm")
METRICS = (Path(__file__).parent / "recorded/vllm_0.32.0_metrics.txt").read_text()
# As a live server of 0.32.0 answers.
ANSWER = (
    b'{"id":"cmpl-1","object":"text_completion","created":1796045969,"model":"/models/tiny","choices":[{"index":0,'
    b'"text":"\xef\xbf\xbdQ","logprobs":null,"finish_reason":"length","stop_reason":null}],"usage":{"prompt_tokens":2,'
    b'"total_tokens":6,"completion_tokens":4,"prompt_tokens_details":null}}'
)
UNKNOWN_MODEL = b'{"error":{"message":"The model `nope` does not exist.","type":"NotFoundError","param":"model","code":404}}'
OFFLOAD = Flag(name="kv_offloading_size", value=200, unit="GiB", scope="total")


def small(*flags, **fields):
    settled = {"name": "vllm-small", "engine": "vllm", "model": "/models/small", "ranks": 2, "port": 8000}
    return profile(**{**settled, "flags": flags, **fields})


def test_a_generation_names_the_model_and_asks_for_so_many_tokens():
    method, path, body = VLLM.generate("Hello", 16, "/models/tiny")
    asked = json.loads(body)
    assert (method, path) == ("POST", "/v1/completions")
    assert (asked["model"], asked["max_tokens"], asked["ignore_eos"]) == ("/models/tiny", 16, True)
    assert "stream" not in asked
    assert VLLM.names_model


def test_a_generation_is_counted_by_the_engine():
    found = VLLM.parse_generation(ANSWER)
    assert (found.tokens, found.text) == (4, "\N{REPLACEMENT CHARACTER}Q")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (UNKNOWN_MODEL, "does not exist"),
        (b'{"choices": [{"text": "no count"}]}', "without the expected fields"),
        (b'{"choices": []}', "without the expected fields"),
        (
            b'{"usage": {"prompt_tokens": 1, "completion_tokens": 1}, "choices": [{}]}',
            "without the expected fields",
        ),
        (b"[]", "JSON object"),
        (b"<html>", "Expecting value"),
    ],
)
def test_an_error_body_is_no_generation(body, said):
    with pytest.raises(ValueError, match=said):
        VLLM.parse_generation(body)


def test_the_capacity_stands_in_the_label_of_a_metric():
    assert VLLM.parse_metrics(METRICS) == (PoolSizes(rank="DP0", device_tokens=2_097_152),)
    assert VLLM.pools_of == "total"


def test_a_release_without_that_label_leaves_the_capacity_to_the_log():
    assert VLLM.parse_metrics('vllm:cache_config_info{block_size="16",num_gpu_blocks="9000"} 1.0') == ()
    assert VLLM.parse_metrics('vllm:cache_config_info{kv_cache_size_tokens="None"} 1.0') == ()


def test_the_requests_of_all_engine_cores_count():
    two = 'vllm:num_requests_running{engine="0"} 3.0\nvllm:num_requests_running{engine="1"} 2.0\nvllm:num_requests_waiting{engine="1"} 4.0'
    assert VLLM.parse_others(two) == Others(running=5, waiting=4)
    assert VLLM.parse_others(METRICS) == Others(running=0, waiting=0), "by reason they would be counted twice"
    assert VLLM.parse_others('vllm:num_requests_running{engine="0"} NaN') is None


@pytest.mark.parametrize(
    ("name", "own", "maybe"),
    [
        ("/dev/shm/vllm_offload_6f1c.mmap", True, False),
        ("/dev/shm/vllm_ec_6f1c.mmap", True, False),
        ("/dev/shm/psm_2842e796", False, True),
        ("/dev/shm/sem.mp-tkyoj31d", False, True),
        ("/dev/shm/pulse-shm-1", False, False),
    ],
)
def test_shared_memory_is_known_by_its_name(name, own, maybe):
    assert (VLLM.owns_segment(name), VLLM.may_own_segment(name)) == (own, maybe)


@given(st.binary())
def test_no_body_breaks_the_parser_otherwise_than_promised(body):
    with contextlib.suppress(ValueError):
        VLLM.parse_generation(body)


def test_an_interpreter_starts_the_module_that_the_console_script_is():
    argv = VLLM.argv(
        small(Flag(name="max_model_len", value=4096), Flag(name="enforce_eager", value=True)), {}
    )
    assert argv == (
        "python3", "-m", "vllm.entrypoints.cli.main", "serve", "/models/small", "--tensor-parallel-size", "2",
        "--port", "8000", "--max-model-len", "4096", "--enforce-eager",
    )  # fmt: skip


@pytest.mark.parametrize("command", [("vllm",), ("numactl", "--interleave=all", "/opt/vllm/bin/vllm")])
def test_the_console_script_is_started_as_it_is(command):
    assert VLLM.argv(small(command=command), {})[: len(command) + 2] == (*command, "serve", "/models/small")


def test_the_launched_command_line_is_recognised_again():
    for command in (("python3",), ("/opt/vllm/bin/python", "/opt/vllm/bin/vllm")):
        argv = VLLM.argv(small(OFFLOAD, command=command), {})
        (service,) = VLLM.find_services((process(50, "python3", *argv),))
        assert (service.port, service.flags["kv_offloading_size"]) == (8000, "200")
        assert VLLM.expected_ranks(service.flags) == 2


def test_a_size_that_nobody_has_settled_is_not_launched():
    auto = small(Flag(name="kv_offloading_size", value=AUTO), Flag(name="kv_cache_dtype", value=AUTO))
    with pytest.raises(ValueError, match=r"kv_offloading_size is auto .* not been sized"):
        VLLM.argv(auto, {})
    argv = VLLM.argv(auto, {"kv_offloading_size": 120})
    assert argv[-4:] == ("--kv-offloading-size", "120", "--kv-cache-dtype", "auto")


def test_host_memory_is_taken_by_the_flags_that_are_set_and_not_nought():
    flags = (OFFLOAD, Flag(name="cpu_offload_gb", value=0), Flag(name="swap_space", value=4))
    assert [flag.name for flag in VLLM.host_memory_flags(small(*flags))] == [
        "kv_offloading_size",
        "swap_space",
    ]
    assert VLLM.host_memory_flags(small()) == ()


def test_ports_that_the_command_line_names_are_its_own():
    assert VLLM.ports(8000, {"master_port": "29501", "data_parallel_rpc_port": "auto"}) == (8000, 29501)
