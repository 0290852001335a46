"""vLLM's log, as its releases word it, and as a live server of 0.32.0 wrote it."""

from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetops.engines import engine
from fleetops.model.engine import LogReport

VLLM = engine("vllm")
RECORDED = Path(__file__).parent / "recorded"
CORE = "(EngineCore pid=9625) INFO 11-29 19:17:24 [kv_cache_utils.py:2327] "
ERROR = "(EngineCore pid=9625) ERROR 11-29 19:17:44 [core.py:1512] "
READY = "INFO:     Application startup complete."


def recorded(name):
    return (RECORDED / name).read_text().splitlines()


def report(*lines):
    return VLLM.read_log(lines)


def test_a_recorded_start_becomes_ready_and_never_looks_failed_on_the_way():
    stages = list(accumulate(recorded("vllm_0.32.0_ready.log"), VLLM.fold, initial=LogReport()))
    assert [stage.failure for stage in stages if stage.failure] == []
    assert (stages[-1].ready, stages[-1].stage, stages[-1].device_tokens) == (True, "ready", 2_097_152)
    seen = dict.fromkeys(stage.stage for stage in stages)
    assert list(seen) == ["", "engine", "weights", "kv-cache", "listening", "ready"]


def test_a_recorded_death_names_the_worker_that_died_first():
    found = report(*recorded("vllm_0.32.0_worker_killed.log"))
    assert found.failure == "worker VllmWorker-0 died unexpectedly"


@pytest.mark.parametrize(
    "lines",
    [
        ("GPU KV cache size: 231,120 tokens", "Maximum concurrency for 131,072 tokens per request: 1.76x"),
        ("GPU KV cache size: 231,120 tokens, Maximum concurrency for 131,072 tokens per request: 1.76x",),
        ("CPU KV cache size: 231,120 tokens, Maximum concurrency for 256 tokens per request: 902.81x",),
        (
            "GPU + host KV cache size: 231,120 tokens, Maximum concurrency for 256 tokens per request: 902.81x",
        ),
    ],
    ids=["two lines up to 0.27.1", "one line in 0.29.0", "the device from 0.30.0", "with hisparse"],
)
def test_the_capacity_is_read_in_each_of_its_forms(lines):
    found = report(*(f"{CORE}{line}" for line in lines))
    assert (found.device_tokens, found.stage) == (231_120, "kv-cache")
    assert "231,120 tokens" in found.progress


def test_of_several_capacities_the_smallest_decides():
    found = report(*(f"{CORE}GPU KV cache size: {tokens} tokens" for tokens in ("4,096", "2,048", "3,072")))
    assert found.device_tokens == 2048


def test_host_pools_are_counted_where_workers_make_them():
    line = "SimpleCPUOffloadConnector: role={}, per_rank=25.00 GB, world_size=2, mode=eager"
    found = report(*(CORE + line.format(role) for role in ("SCHEDULER", "WORKER", "WORKER")))
    assert found.host_pool_bytes == (25 * 2**30, 25 * 2**30)


@pytest.mark.parametrize(
    ("line", "stage"),
    [
        ("Initializing a V1 LLM engine (v0.8.5) with config: model='m'", "engine"),
        ("Starting to load model /models/small...", "weights"),
        ("Loading safetensors checkpoint shards:  50% Completed | 2/4 [00:01<00:01,  1.9it/s]", "weights"),
        ("Model loading took 15.3 GiB and 6.123456 seconds", "weights"),
        ("Available KV cache memory: 60.12 GiB", "kv-cache"),
        ("Capturing CUDA graphs (mixed prefill-decode, PIECEWISE): 100%|####| 67/67 [00:03<00:00]", "graphs"),
        ("Graph capturing finished in 20 secs, took 0.51 GiB", "graphs"),
        ("Starting vLLM API server on http://0.0.0.0:8000", "listening"),
        ("Starting vLLM API server 0 on http://0.0.0.0:8000", "listening"),
        ("Starting vLLM server on http://0.0.0.0:8000", "listening"),
    ],
)
def test_progress_is_said_for_a_person(line, stage):
    found = report(CORE + line)
    assert (found.stage, found.failure) == (stage, "")
    assert found.progress


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            f"{ERROR}ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`",
            "No available memory for the cache blocks.",
        ),
        (
            f"{ERROR}ValueError: To serve at least one request with the models's max seq len (131072), (4.0 GiB KV",
            "max seq len (131072)",
        ),
        (
            f"{ERROR}ValueError: Free memory on device (3.1/94.0 GiB) on startup is less than desired GPU memory utilization",
            "3.1/94.0 GiB",
        ),
        (
            "ValueError: Too large swap space. 32.00 GiB out of the 40.00 GiB total CPU memory",
            "Too large swap",
        ),
        (
            f"{ERROR}torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
            "CUDA out of memory",
        ),
        ("OSError: [Errno 98] Address already in use", "Address already in use"),
        ("/usr/bin/python3: No module named 'vllm'", "No module named 'vllm'"),
        ("vllm serve: error: unrecognized arguments: --hicache-size 4", "unrecognized arguments"),
        (
            f"{ERROR}Worker proc VllmWorker-1 died unexpectedly (exit code: -9), shutting down executor.",
            "OOM killer",
        ),
        (f"{ERROR}Worker proc VllmWorker-1 died unexpectedly, shutting down executor.", "VllmWorker-1"),
        (f"{ERROR}KeyError: 'layers.0'", "KeyError: 'layers.0'"),
    ],
)
def test_a_cause_of_death_is_found(line, said):
    symptoms = (
        f"{ERROR}EngineCore failed to start.",
        "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
    )
    assert said in report(symptoms[0], line, *symptoms[1:]).failure


def test_a_symptom_is_kept_until_something_tells_more():
    line = "(APIServer pid=1) ERROR 11-29 19:17:44 [x.py:9] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue."
    assert report(line).failure.startswith("EngineDeadError: ")


def test_a_requests_own_error_is_no_death_of_a_serving_engine():
    assert report(READY, f"{ERROR}ValueError: The prompt is too long").failure == ""


def test_a_warning_that_names_an_exception_is_no_failure():
    line = "(EngineCore pid=1) WARNING 11-29 19:17:44 [x.py:9] ImportError: no module named deep_gemm"
    assert report(line).failure == ""


def test_a_new_start_in_the_same_file_forgets_the_old_one():
    old = recorded("vllm_0.32.0_worker_killed.log")
    assert report(
        *old, "(APIServer pid=2) INFO 11-29 19:20:01 [a.py:1] non-default args: {'port': 8000}"
    ) == LogReport(progress="starting")


@given(st.text())
def test_no_line_breaks_the_fold(line):
    VLLM.fold(LogReport(), line)
