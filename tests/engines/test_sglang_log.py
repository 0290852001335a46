"""SGLang's log, as its releases word it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetops.engines import engine
from fleetops.model.engine import LogReport

SGLANG = engine("sglang")
PREFIX = "[2026-11-29 12:00:00 TP0] "

OLD = """\
server_args=ServerArgs(model_path='/models/example', hicache_size=48)
Init torch distributed begin.
Init torch distributed ends. mem usage=1.20 GB
Load weight begin. avail mem=93.10 GB
Load weight end. type=DeepseekV3ForCausalLM, dtype=torch.bfloat16, avail mem=40.00 GB, mem usage=53.10 GB.
KV Cache is allocated. #tokens: 231120, KV size: 15.13 GB
Memory pool end. avail mem=9.20 GB
Capture cuda graph begin. This can take up to several minutes. avail mem=9.00 GB
Capture cuda graph end. Time elapsed: 20.11 s. mem usage=1.00 GB. avail mem=8.00 GB.
max_total_num_tokens=231120, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, context_len=163840
Allocating 48.00 GB host memory for hierarchical KV cache.
Allocating 48.00 GB host memory for hierarchical KV cache.
"""
NEW = """\
server_args=ServerArgs(model_path='/models/example')
Init torch distributed ends. elapsed=3.20 s, mem usage=1.20 GB
Load weight end. elapsed=42.10 s, type=DeepseekV3ForCausalLM, quant=fp8, avail mem=40.00 GB, mem usage=53.10 GB.
KV Cache is allocated. dtype: torch.bfloat16, #tokens: 231120, KV size: 15.13 GB
Capture decode CUDA graph begin. backend=full, num_tokens=[1, 2], avail mem=9.00 GB
Capture decode CUDA graph end. elapsed=20.11 s, mem usage=1.00 GB, avail mem=8.00 GB.
max_total_num_tokens=231120, chunked_prefill_size=8192, max_running_requests=2048, context_len=163840, available_gpu_mem=8.00 GB
Allocating swa hierarchical KV host pool: 4096 tokens, 2.00 GB host memory.
Allocating kv hierarchical KV host pool: 683072 tokens, 48.00 GB host memory.
"""
READY = "The server is fired up and ready to roll!"


def report(text, prefix=PREFIX):
    return SGLANG.read_log(f"{prefix}{line}" for line in text.splitlines())


def test_up_to_0_5_16_the_host_pool_lines_come_after_the_device_pool_and_name_no_tokens():
    found = report(OLD)
    assert found.device_tokens == 231120
    assert found.host_pool_bytes == (48_000_000_000, 48_000_000_000)
    assert found.host_tokens is None
    assert (found.stage, found.ready, found.failure) == ("host-pool", False, "")
    assert "96 GB" in found.progress


def test_from_0_5_17_the_host_pool_lines_count_tokens_and_the_kv_label_counts():
    found = report(NEW)
    assert found.host_tokens == 683072
    assert found.host_pool_bytes == (2_000_000_000, 48_000_000_000)


def test_sidecar_pools_count_as_host_memory():
    found = report(
        "Allocating 10.00 GB host memory for hierarchical Mamba cache (layout=page_first).\n"
        "Allocating 34.38 GB host memory for DSA indexer (layout=page_first)."
    )
    assert found.host_pool_bytes == (10_000_000_000, 34_380_000_000)


def test_pipeline_stages_agree_on_the_smallest_pool():
    found = report(NEW + "Sync fixed-size HiCache host token capacity from 683072 to 600000.")
    assert found.host_tokens == 600000


@pytest.mark.parametrize("prefix", ["", PREFIX, "[2026-11-29 12:00:00.123 DP0 TP1] ", "INFO:sglang: "])
def test_the_prefix_of_a_line_does_not_matter(prefix):
    found = report(OLD + READY, prefix)
    assert found.ready
    assert found.stage == "ready"


@pytest.mark.parametrize(
    ("line", "stage", "progress"),
    [
        ("Load weight begin. avail mem=93.10 GB", "weights", "loading weights"),
        ("Loading safetensors checkpoint shards:  45% Completed | 5/11 [00:10<00:12]", "weights", "5 of 11"),
        ("\rCapturing batches (bs=8):  40%|####  |\rCapturing batches (bs=4):  52%|### | 12/23 [00:01<00:01]", "graphs", "12 of 23"),
        ("KV Cache VA upper bound. dtype: torch.bfloat16, #tokens: 231,120, KV size", "kv-cache", "231,120"),
        ("main KV Cache is allocated. dtype: torch.bfloat16, #tokens: 5, K size", "kv-cache", "5"),
        ("Capture piecewise CUDA graph begin. avail mem=1 GB", "graphs", "capturing"),
        ("Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)", "listening", "warming up"),
    ],
)  # fmt: skip
def test_progress_is_said_for_a_person(line, stage, progress):
    found = report(line, "")
    assert found.stage == stage
    assert progress in found.progress


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "ValueError: Not enough host memory available. Requesting 300.00 GB but only have 54.78 GB free. Please reduce the size of the hierarchical cache.",
            "Requesting 300.00 GB but only have 54.78 GB free",
        ),
        (
            "ValueError: Not enough host memory for DSA indexer hierarchical cache. Requesting 34.38 GB but only have 3.00 GB free.",
            "DSA indexer",
        ),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "CUDA out of memory"),
        ("RuntimeError: CUDA error: out of memory", "CUDA error: out of memory"),
        (
            "AssertionError: The host memory should be larger than the device memory with the current protocol",
            "smaller than the GPU pool",
        ),
        (
            "RuntimeError: Rank 3 scheduler died during initialization (exit code: -9). If exit code is -9 (SIGKILL), a common cause is the OS OOM killer. Run `dmesg -T | grep -i oom` to check.",
            "rank 3 was killed while it started (exit code -9, SIGKILL): most often the kernel's OOM killer",
        ),
        ("RuntimeError: Rank 3 scheduler died during initialization (exit code: 1).", "rank 3 died"),
        (
            "Subprocess scheduler_5 (pid=4135) crashed with exit code -9. Triggering SIGQUIT for cleanup...",
            "OOM killer",
        ),
        ("Exit code: -9", "OOM killer"),
        ("start.sh: line 3:  4121 Killed                  python3 -m sglang.launch_server", "OOM killer"),
        (
            "ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 30000): address already in use",
            "address already in use",
        ),
        ("Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)", "hangs"),
        ("Watchdog timeout (self.watchdog_timeout=300)", "hangs"),
        ("/usr/bin/python3: No module named sglang", "No module named sglang"),
        ("launch_server.py: error: unrecognized arguments: --hicache-sise 48", "unrecognized arguments"),
        ("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.", "mem-fraction-static"),
        ("KeyError: 'architectures'", "KeyError: 'architectures'"),
    ],
)  # fmt: skip
def test_a_cause_of_death_is_found(line, said):
    assert said in report(OLD + line, "").failure


def test_the_cause_outlives_the_symptoms_that_follow_it():
    lines = [
        "Scheduler hit an exception: Traceback (most recent call last):",
        '  File "scheduler.py", line 1, in run',
        "ValueError: Not enough host memory available. Requesting 300.00 GB but only have 54.78 GB free. Please reduce the size of the hierarchical cache.",
        "Received sigquit from a child process. It usually means the child failed.",
        "Rank 0 scheduler is dead. Please check if there are relevant logs.",
        "RuntimeError: Initialization failed. Please see the error messages above.",
    ]
    assert SGLANG.read_log(lines).failure.startswith("Not enough host memory available")


def test_a_rank_that_was_killed_while_it_started_stays_the_cause():
    found = report(
        "RuntimeError: Rank 3 scheduler died during initialization (exit code: -9). If exit code is -9\n"
        "Received sigquit from a child process. It usually means the child failed."
    )
    assert found.failure.startswith("rank 3 was killed while it started")


def test_a_symptom_is_kept_until_something_tells_more():
    symptom = SGLANG.read_log(
        [PREFIX + "Received sigquit from a child process. It usually means the child failed."]
    )
    assert symptom.failure == "Received sigquit from a child process. It usually means the child failed."
    assert "OOM killer" in SGLANG.fold(symptom, "Exit code: -9").failure


def test_a_requests_own_error_is_no_death_of_a_serving_engine():
    assert report(OLD + READY + "\nValueError: the input is too long", "").failure == ""


def test_a_rank_that_dies_while_serving_is_reported_with_its_exception():
    text = (
        OLD
        + READY
        + "\nScheduler hit an exception: Traceback (most recent call last):\nRuntimeError: bad rank"
    )
    assert report(text, "").failure == "RuntimeError: bad rank"


def test_normal_pressure_is_no_failure():
    pressure = "KV cache pool is full. Retract requests. #retracted_reqs: 1\nDecode out of memory happened. #retracted_reqs: 1"
    assert report(pressure).failure == ""


def test_a_new_start_in_the_same_file_forgets_the_old_one():
    found = report(OLD + "Exit code: -9\n" + NEW)
    assert found.failure == ""
    assert len(found.host_pool_bytes) == 2


@given(st.text())
def test_no_line_breaks_the_fold(line):
    assert isinstance(SGLANG.fold(LogReport(), line), LogReport)
