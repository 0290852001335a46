"""vLLM's log lines, release by release (0.8.5 to 0.33.0), in the order in which they come.

Each line of the server's own logger has the process in front of it: `(EngineCore pid=9625) INFO 11-29 19:17:24
[kv_cache_utils.py:2327] ...`. A traceback is logged with that in front of every line, so the exception's last line is
not at the margin.
"""

import re
from dataclasses import replace

from fleetops.engines.support.log_fold import Failure, LogForm, Telling, whole
from fleetops.engines.support.log_lines import (
    OOM_KILLER,
    graph_batches,
    milestones,
    ready,
    shards,
    stage,
    with_advice,
)
from fleetops.model.engine import LogReport
from fleetops.model.units import GIB, show_gb


def _kv_cache(report: LogReport, found: re.Match[str]) -> LogReport:
    """The whole server's pool, in one line or in one for each rank; where they differ, the smallest decides."""
    tokens = whole(found["tokens"])
    least = tokens if report.device_tokens is None else min(tokens, report.device_tokens)
    return replace(
        report,
        stage="kv-cache",
        progress=f"{found['device']} KV cache of {least:,} tokens",
        device_tokens=least,
    )


def _offloaded(report: LogReport, found: re.Match[str]) -> LogReport:
    """SimpleCPUOffloadConnector, which prints GiB as `GB`; it is made once in the scheduler and once in each worker."""
    pools = report.host_pool_bytes
    if found["role"] == "WORKER":
        pools = (*pools, round(float(found["size"]) * GIB))
    told = f", {show_gb(sum(pools))}" if pools else ""
    return replace(
        report, stage="host-pool", progress=f"allocating host KV cache{told}", host_pool_bytes=pools
    )


_MILESTONES = milestones(
    (
        (r"Initializing a V\d LLM engine", stage("engine", "the engine core is being set up")),
        (r"(?:Starting to load model|Loading model from scratch)", stage("weights", "loading weights")),
        (r"checkpoint shards:.*\b(\d+)/(\d+) \[", shards),
        (r"Loading weights took [\d.]+ seconds", stage("weights", "weights loaded")),
        (r"Model loading took [\d.]+ GiB", stage("weights", "weights loaded")),
        (
            r"SimpleCPUOffloadConnector: role=(?P<role>\w+), per_rank=(?P<size>[\d.]+) GB",
            _offloaded,
        ),
        (r"Allocating \d+ CPU tensors", stage("host-pool", "allocating host KV cache")),
        (r"Available KV cache memory: ", stage("kv-cache", "GPU memory profiled")),
        # Two lines up to 0.27.1, one in 0.29.0, the device's own name from 0.30.0 on (`CPU`, `GPU + host`).
        (r"(?P<device>[A-Z][\w +]*?) KV cache size: (?P<tokens>[\d,]+) tokens", _kv_cache),
        (r"Captur\w+ .*\b(\d+)/(\d+) \[", graph_batches),
        (r"Graph capturing finished in", stage("graphs", "CUDA graphs captured")),
        (r"init engine \(profile, create kv cache, warmup model\) took", stage("engine", "engine warm")),
        (r"Starting vLLM (?:API )?server", stage("listening", "starting the HTTP server")),
        # The port opens after the engine is up: this is the last word.
        (r"Application startup complete\.", ready),
    )
)


def _worker_died(found: re.Match[str]) -> str:
    """Up to 0.27.1 without the exit code; where it is None the process was gone before anybody asked."""
    code = found["code"]
    told = (
        f" ({OOM_KILLER})" if code == "-9" else f" (exit code {code})" if code not in {None, "None"} else ""
    )
    return f"worker {found['name']} died unexpectedly{told}"


_CAUSE, _SYMPTOM = Telling.CAUSE, Telling.SYMPTOM
_FAILURES = (
    Failure(re.compile(r"No available memory for the cache blocks\..*"), _CAUSE, lambda m: m[0]),
    Failure(
        re.compile(r"To serve at least one request with the models?'s? max seq len .*"),
        _CAUSE,
        lambda m: m[0],
    ),
    Failure(
        re.compile(r"Free memory on device .*is less than desired GPU memory utilization.*"),
        _CAUSE,
        lambda m: m[0],
    ),
    Failure(re.compile(r"Too large swap space\..*"), _CAUSE, lambda m: m[0]),
    Failure(re.compile(r"(?:torch\.)?(?:cuda\.)?OutOfMemoryError: .*"), _CAUSE, lambda m: m[0]),
    Failure(re.compile(r"\bCUDA out of memory\b.*"), _CAUSE, lambda m: m[0]),
    Failure(re.compile(r"\bCUDA error: .*"), _CAUSE, lambda m: m[0]),
    Failure(re.compile(r"(?i)\[Errno 98\].*|address already in use.*"), _CAUSE, lambda m: m[0]),
    Failure(re.compile(r"No module named '?vllm\b.*"), _CAUSE, lambda m: m[0]),
    Failure(re.compile(r"^(?:vllm|api_server\.py|main\.py)\b.*: error: .*"), _CAUSE, lambda m: m[0]),
    Failure(re.compile(r"Watchdog caught collective operation timeout.*"), _CAUSE, lambda m: m[0]),
    Failure(re.compile(r"^(?:.*: line \d+:\s+)?\d*\s*Killed\b.*"), _CAUSE, with_advice(OOM_KILLER)),
    Failure(re.compile(r"Fatal Python error: .*"), _CAUSE, lambda m: m[0]),
    # What kills a worker leaves no line of its own: this one is as near to the cause as the log comes.
    Failure(
        re.compile(r"Worker proc (?P<name>\S+) died unexpectedly(?: \(exit code: (?P<code>[^)]*)\))?"),
        _CAUSE,
        _worker_died,
    ),
    Failure(re.compile(r"WorkerProc failed to start\."), _SYMPTOM),
    Failure(re.compile(r"WorkerProc initialization failed due to an exception.*"), _SYMPTOM, lambda m: m[0]),
    Failure(re.compile(r"EngineCore failed to start\."), _SYMPTOM),
    Failure(re.compile(r"EngineCore encountered a fatal error\."), _SYMPTOM),
    Failure(re.compile(r"Engine core initialization failed\..*"), _SYMPTOM, lambda m: m[0]),
    Failure(re.compile(r"Engine core proc \S+ died unexpectedly.*"), _SYMPTOM, lambda m: m[0]),
    Failure(re.compile(r"EngineDeadError: .*"), _SYMPTOM, lambda m: m[0]),
    Failure(re.compile(r"RuntimeError: Executor failed\."), _SYMPTOM, lambda m: m[0]),
)

LOG = LogForm(
    # Up to 0.20 the first, since about 0.11 the second: where both come, they come together.
    start=re.compile(r"\bvLLM API server version |\bnon-default args: \{"),
    prefix=re.compile(r"^(?:\(\S+ pid=\d+\) )?(?:ERROR \d\d-\d\d \d\d:\d\d:\d\d \[[^\]]*\] )?"),
    exceptions_bear_prefix=True,
    milestones=_MILESTONES,
    failures=_FAILURES,
)
