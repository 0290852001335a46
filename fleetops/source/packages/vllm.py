"""vLLM: one worker for each rank (v1/worker, worker/), one engine core and one API server beside them."""

from fleetops.source.packages.base import Package

PACKAGE = Package(
    name="vllm",
    title="vLLM",
    per_rank=("WorkerProc.*", "WorkerWrapperBase.*", "Worker.*", "GPUWorker.*", "GPUModelRunner.*"),
    per_server=(
        "EngineCore.*",
        "EngineCoreProc.*",
        "LLMEngine.*",
        "AsyncLLM.*",
        "AsyncLLMEngine.*",
        "EngineArgs.*",
        "VllmConfig.*",
    ),
    parallel_sizes=("tp_size", "pp_size", "dp_size", "num_kv_ranks", "num_workers"),
)
