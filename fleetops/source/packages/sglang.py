"""SGLang: one scheduler process for each tensor- and pipeline-parallel rank (srt/managers/scheduler.py)."""

from fleetops.source.packages.base import Package

PACKAGE = Package(
    name="sglang",
    title="SGLang",
    per_rank=("run_scheduler_process",),
    per_server=(
        "launch_server",
        "run_data_parallel_controller_process",
        "run_detokenizer_process",
        "Engine.*",
    ),
    parallel_sizes=(
        "tp_size",
        "pp_size",
        "dp_size",
        "ep_size",
        "attn_tp_size",
        "attn_cp_size",
        "moe_dp_size",
    ),
    left_out=("test", "tests", "benchmark", "benchmarks", "multimodal_gen", "lang", "eval"),
)
