"""SGLang's log lines, release by release (0.4.5.post3 to 0.5.23), in the order in which they come."""

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
from fleetops.model.units import GB, show_gb


def _kv_cache(report: LogReport, found: re.Match[str]) -> LogReport:
    return replace(report, stage="kv-cache", progress=f"GPU KV cache of {whole(found[1]):,} tokens allocated")


def _device_tokens(report: LogReport, found: re.Match[str]) -> LogReport:
    """The GPU pool; the line comes before the host pool exists, so it says nothing about host memory."""
    tokens = whole(found[1])
    return replace(
        report,
        stage=report.stage or "kv-cache",
        progress=f"GPU pool of {tokens:,} tokens",
        device_tokens=tokens,
    )


def _host_pool(report: LogReport, found: re.Match[str]) -> LogReport:
    pools = (*report.host_pool_bytes, round(float(found["gb"]) * GB))
    told = found.groupdict().get("tokens")
    # Sidecar pools (swa, draft, indexer) have their own counts; the KV cache itself is labelled kv.
    counts = told and (report.host_tokens is None or found["label"].strip() == "kv")
    tokens = whole(told) if told and counts else report.host_tokens
    count = f"{len(pools)} pools" if len(pools) > 1 else "1 pool"
    return replace(
        report,
        stage="host-pool",
        progress=f"allocating host KV cache, {count}, {show_gb(sum(pools))}",
        host_pool_bytes=pools,
        host_tokens=tokens,
    )


def _synced_host_tokens(report: LogReport, found: re.Match[str]) -> LogReport:
    """Pipeline stages agree on the smallest pool of theirs (0.5.15+)."""
    return replace(report, host_tokens=int(found[1]))


_MILESTONES = milestones(
    (
        (r"Init torch distributed begin", stage("distributed", "ranks are meeting (torch distributed)")),
        (r"Init torch distributed ends", stage("distributed", "ranks have met")),
        (r"Load weight begin", stage("weights", "loading weights")),
        (r"checkpoint shards:.*\b(\d+)/(\d+) \[", shards),
        (r"Load weight end", stage("weights", "weights loaded")),
        # 0.5.14+ puts the dtype before the sizes; 0.5.23 may call it an upper bound or a no-op pool.
        (r"KV Cache (?:is allocated|VA upper bound|skipped).*#tokens: ([\d,]+)", _kv_cache),
        (r"Memory pool end", stage("kv-cache", "GPU memory pools allocated")),
        (r"Captur\w+ (?:batches|num tokens).*?\b(\d+)/(\d+) \[", graph_batches),
        (r"Capture (?:.+ )?(?:cuda|CUDA) graph begin", stage("graphs", "capturing CUDA graphs")),
        (r"Capture (?:.+ )?(?:cuda|CUDA) graph end", stage("graphs", "CUDA graphs captured")),
        (r"\bmax_total_num_tokens=(\d+)", _device_tokens),
        # Up to 0.5.16, the sidecar pools of mamba, DSA and MiniMax included; from 0.5.17 with the token count.
        (r"Allocating (?P<gb>[\d.]+) GB host memory for \S", _host_pool),
        (
            r"Allocating (?P<label>.*)hierarchical KV host pool: (?P<tokens>[\d,]+) tokens, (?P<gb>[\d.]+) GB host memory",
            _host_pool,
        ),
        (r"Sync fixed-size HiCache host token capacity from \d+ to (\d+)", _synced_host_tokens),
        (r"Application startup complete|Uvicorn running on", stage("listening", "port open, warming up")),
        (r"The server is fired up and ready to roll!", ready),
    )
)


def _killed_at_start(found: re.Match[str]) -> str:
    if found["code"] == "-9":
        return (
            f"rank {found['rank']} was killed while it started (exit code -9, SIGKILL): "
            "most often the kernel's OOM killer, host memory ran out"
        )
    return f"rank {found['rank']} died while it started (exit code {found['code']})"


def _crashed(found: re.Match[str]) -> str:
    killed = (
        " (SIGKILL): most often the kernel's OOM killer, host memory ran out" if found["code"] == "-9" else ""
    )
    return f"{found['name']} (pid {found['pid']}) ended with exit code {found['code']}{killed}"


_CAUSE, _SYMPTOM = Telling.CAUSE, Telling.SYMPTOM
_FAILURES = (
    Failure(
        re.compile(r"Not enough host memory(?: available| for .*?)?\. Requesting .*"), _CAUSE, lambda m: m[0]
    ),
    Failure(
        re.compile(r"The host memory should be larger than the device memory.*"),
        _CAUSE,
        with_advice("up to 0.5.14 a host pool smaller than the GPU pool ends the launch"),
    ),
    Failure(re.compile(r"(?:torch\.)?(?:cuda\.)?OutOfMemoryError: .*"), _CAUSE, lambda m: m[0]),
    Failure(re.compile(r"\bCUDA out of memory\b.*"), _CAUSE, lambda m: m[0]),
    Failure(re.compile(r"\bCUDA error: .*"), _CAUSE, lambda m: m[0]),
    Failure(
        re.compile(r"Not enough memory\. Please try to increase --mem-fraction-static\..*"),
        _CAUSE,
        lambda m: m[0],
    ),
    Failure(
        re.compile(r"(?i)address already in use|\bport \d+ is (?:already )?(?:in use|not available)"), _CAUSE
    ),
    Failure(
        re.compile(r"Rank (?P<rank>\d+) scheduler died during initialization \(exit code: (?P<code>-?\d+)\)"),
        _CAUSE,
        _killed_at_start,
    ),
    Failure(
        re.compile(r"Subprocess (?P<name>\S+) \(pid=(?P<pid>\d+)\) crashed with exit code (?P<code>-9)\b"),
        _CAUSE,
        _crashed,
    ),
    Failure(
        re.compile(r"(?i)watchdog timeout \(self\.watchdog_timeout=[^)]*\)"),
        _CAUSE,
        with_advice("a rank hangs"),
    ),
    Failure(re.compile(r"Watchdog caught collective operation timeout.*"), _CAUSE, lambda m: m[0]),
    Failure(re.compile(r"ProcessGroupNCCL's watchdog got stuck for \d+ \w+.*"), _CAUSE, lambda m: m[0]),
    Failure(re.compile(r"No module named '?sglang\b.*"), _CAUSE, lambda m: m[0]),
    Failure(re.compile(r"launch_server\.py: error: .*|^sglang\b.*: error: .*"), _CAUSE, lambda m: m[0]),
    Failure(re.compile(r"Weights are not ready after waiting .*"), _CAUSE, lambda m: m[0]),
    Failure(
        re.compile(r"^(?:.*: line \d+:\s+)?\d*\s*Killed\b.*"),
        _CAUSE,
        with_advice(OOM_KILLER),
    ),
    Failure(re.compile(r"Fatal Python error: .*"), _CAUSE, lambda m: m[0]),
    Failure(
        re.compile(r"Subprocess (?P<name>\S+) \(pid=(?P<pid>\d+)\) crashed with exit code (?P<code>-?\d+)\b"),
        _SYMPTOM,
        _crashed,
    ),
    Failure(re.compile(r"^Exit code: -9\b.*"), _CAUSE, with_advice(OOM_KILLER)),
    Failure(re.compile(r"\bExit code: -9\b"), _CAUSE, with_advice(OOM_KILLER)),
    Failure(re.compile(r"Rank \d+ scheduler is dead\."), _SYMPTOM),
    Failure(re.compile(r"Scheduler hit an exception: "), _SYMPTOM, lambda _: "a scheduler hit an exception"),
    Failure(re.compile(r"Received sigquit from a child process"), _SYMPTOM),
    Failure(re.compile(r"SIGQUIT received\. signum="), _SYMPTOM),
    Failure(re.compile(r"Initialization failed\. warmup error: .*"), _SYMPTOM, lambda m: m[0]),
    Failure(re.compile(r"Initialization failed\. Please see the error messages above"), _SYMPTOM),
    Failure(re.compile(r"Scheduler or DataParallelController \d+ terminated with -?\d+"), _SYMPTOM),
    Failure(re.compile(r"Health check failed\. Server couldn't get a response from detokenizer"), _SYMPTOM),
)

# Every release prints its settings first.
LOG = LogForm(
    start=re.compile(r"\bserver_args=ServerArgs\("),
    prefix=re.compile(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[^\]]*\]\s*"),
    milestones=_MILESTONES,
    failures=_FAILURES,
)
