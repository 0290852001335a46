"""GET /metrics: the figures of metrics/collector.py, and one that came later.

0.5.9 itself tells its host pool's tokens nowhere; `sglang:hicache_host_total_tokens` is a later release's gauge, and
here so that the lab can show what a fleet of mixed releases shows.
"""

from fleetops.lab.engine.requests import Requests
from fleetops.lab.engine.service import Service


def metrics(service: Service, requests: Requests) -> str:
    """The Prometheus text."""
    labels = f'engine_type="unified",model_name="{service.args["served_model_name"]}",pp_rank="0",tp_rank="0"'
    gauges = {
        "num_running_reqs": ("The number of running requests.", len(requests.pending())),
        "num_queue_reqs": ("The number of requests in the waiting queue.", 0),
        "max_total_num_tokens": (
            "Maximum total number of tokens in the KV cache pool.",
            service.device_tokens,
        ),
    }
    if service.args["enable_hierarchical_cache"]:
        about = "Total number of tokens in the HiCache host KV cache pool."
        gauges["hicache_host_total_tokens"] = (about, service.host_tokens)
    counters = {
        "prompt_tokens_total": ("Number of prefill tokens processed.", requests.prompted),
        "generation_tokens_total": ("Number of generation tokens processed.", requests.generated),
        "num_requests_total": ("Number of requests processed.", requests.finished),
    }
    lines = []
    for kind, figures in (("gauge", gauges), ("counter", counters)):
        for name, (about, value) in figures.items():
            lines += [
                f"# HELP sglang:{name} {about}",
                f"# TYPE sglang:{name} {kind}",
                f"sglang:{name}{{{labels}}} {float(value)}",
            ]
    return "\n".join([*lines, ""])
