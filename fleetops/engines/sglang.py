"""SGLang, 0.4.5.post3 to 0.5.23: processes, command line, log, endpoints, shared memory.

Titles and texts were read in the wheels of those releases (managers/scheduler.py, entrypoints/http_server.py,
utils/watchdog.py, mem_cache/); where a release words a line differently, both wordings are here.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from fleetops.engines.base import Generation, PoolSizes
from fleetops.engines.support.command_line import file_name, program, write_flags
from fleetops.engines.support.finder import Shape, apart, find_services, titled
from fleetops.engines.support.openai import complaint
from fleetops.engines.support.prometheus import samples
from fleetops.engines.support.segments import COMMON_SEGMENTS
from fleetops.engines.support.sglang_log import LOG
from fleetops.model.engine import LogReport, Service, ServiceRecord
from fleetops.model.fleet import AUTO, Flag, FlagScope, FlagValue, Profile
from fleetops.model.load import Others
from fleetops.model.machine import Listener, Process

_MODULES = frozenset({"sglang.launch_server"})
_SCRIPT_ENDINGS = ("sglang/launch_server.py",)
_CONSOLE_SCRIPT = "sglang"
DEFAULT_PORT = 30000

# The parts of `sglang::scheduler_DP0_PP1_TP3_EP3`; a part is there only when that size is above one.
_TP_PART = re.compile(r"_TP(\d+)(?:_|$)")

# argparse's alternative spellings in server_args.py.
_ALIASES = {
    "tp": "tp_size",
    "tensor_parallel_size": "tp_size",
    "pp": "pp_size",
    "pipeline_parallel_size": "pp_size",
    "dp": "dp_size",
    "data_parallel_size": "dp_size",
}
# With data-parallel attention the HTTP port has fixed neighbours (PortArgs.init_new: ZMQ_TCP_PORT_DELTA).
_DP_ATTENTION_PORT_DELTA = 233

# The names of the host pool's size, in the order in which one overrides the other.
_HOST_POOL_FLAGS = ("hicache_size", "hicache_ratio", "hicache_host_memory_fraction")
_HOST_POOL_SWITCHES = ("enable_hierarchical_cache", "disaggregation_decode_enable_offload_kvcache")
_DEFAULT_RATIO = 2.0

_OWN_SEGMENTS = ("sgl_shm_", "multi_tokenizer_args_")

_RANK_LABELS = (("dp_rank", "DP"), ("pp_rank", "PP"), ("tp_rank", "TP"), ("moe_ep_rank", "EP"))
_DEVICE_METRIC = "sglang:max_total_num_tokens"
_HOST_METRIC = "sglang:hicache_host_total_tokens"
_RUNNING_METRIC, _WAITING_METRIC = "sglang:num_running_reqs", "sglang:num_queue_reqs"


def server_arguments(argv: tuple[str, ...]) -> tuple[str, ...] | None:
    """The server's arguments where this argv runs `sglang.launch_server` or `sglang serve`, else None."""
    running = program(argv)
    if running is None:
        return None
    if running.kind == "module" and running.name in _MODULES:
        return running.arguments
    if running.kind == "script" and running.name.endswith(_SCRIPT_ENDINGS):
        return running.arguments
    if running.kind in {"script", "binary"} and file_name(running.name) == _CONSOLE_SCRIPT:
        return running.arguments[1:] if running.arguments[:1] == ("serve",) else None
    return None


def rank_number(title: str) -> int | None:
    """The tensor-parallel rank in a scheduler's title; a server of one rank bears no number and is rank 0."""
    if not title.startswith("sglang::scheduler"):
        return None
    found = _TP_PART.search(title)
    return int(found[1]) if found else 0


_is_rank = titled("sglang::scheduler")

SHAPE = Shape(
    engine="sglang",
    is_worker=titled("sglang::"),
    ranks=lambda members, _flags: apart(process for process in members if _is_rank(process)),
    rank_number=rank_number,
    server_arguments=server_arguments,
    default_port=DEFAULT_PORT,
)


@dataclass(frozen=True)
class Sglang:
    """The engine, as `engines/base.py` describes one."""

    name: str = "sglang"
    title: str = "SGLang"
    tensor_flag: str = "tp_size"
    # /ready came with 0.5.20. /health answers 200 at all times up to 0.4.10.post2: it never suffices alone.
    ready_paths: tuple[str, ...] = ("/ready", "/health")
    info_paths: tuple[str, ...] = ("/get_server_info", "/server_info")
    metrics_path: str = "/metrics"
    names_model: bool = False
    counted_flags: frozenset[str] = frozenset(
        (*_HOST_POOL_FLAGS, *_HOST_POOL_SWITCHES, "cpu_offload_gb", "nnodes")
    )
    pools_of: FlagScope = "per-rank"

    def find_services(
        self,
        processes: Iterable[Process],
        listeners: Iterable[Listener] = (),
        records: Iterable[ServiceRecord] = (),
    ) -> tuple[Service, ...]:
        """Launchers with all under them, and the groups that dead launchers left behind."""
        return find_services(SHAPE, processes, listeners, records)

    def is_worker(self, process: Process) -> bool:
        """By comm: `sglang::schedul`, `sglang::detoken`, `sglang::data_pa`, ..."""
        return SHAPE.is_worker(process)

    def expected_ranks(self, flags: Mapping[str, str]) -> int:
        """Tensor x pipeline ranks, times the data-parallel groups unless these share the tensor-parallel ranks."""
        sizes = {_ALIASES.get(name, name): value for name, value in flags.items()}
        tensor, pipeline, data, nodes = (
            _size(sizes.get(name)) for name in ("tp_size", "pp_size", "dp_size", "nnodes")
        )
        groups = 1 if "enable_dp_attention" in sizes else data
        return max(1, tensor * pipeline * groups // nodes)

    def argv(self, profile: Profile, values: Mapping[str, FlagValue]) -> tuple[str, ...]:
        """`COMMAND -m sglang.launch_server --model-path M --tp N --port P FLAGS`."""
        flags = {flag.name: values.get(flag.name, flag.value) for flag in profile.flags}
        unsized = [name for name, value in flags.items() if value == AUTO and _is_size(name)]
        if unsized:
            raise ValueError(f"{', '.join(unsized)} is auto in profile {profile.name} and has not been sized")
        head: dict[str, FlagValue] = {"model_path": profile.model, "tp": profile.ranks, "port": profile.port}
        return (*profile.command, "-m", "sglang.launch_server", *write_flags({**head, **flags}))

    def ports(self, port: int, flags: Mapping[str, str]) -> tuple[int, ...]:
        """The HTTP port, a fixed NCCL port, and the neighbour that data-parallel attention takes."""
        said = flags.get("nccl_port", "")
        more = [int(said)] if said.isdecimal() else []
        if "enable_dp_attention" in flags:
            more.append(port + _DP_ATTENTION_PORT_DELTA)
        return (port, *more)

    def host_memory_flags(self, profile: Profile) -> tuple[Flag, ...]:
        """The host pool's size by the flag that decides it, and weights that are offloaded."""
        found = [
            flag for flag in (self._host_pool(profile), profile.flag("cpu_offload_gb")) if flag and flag.value
        ]
        return tuple(found)

    def _host_pool(self, profile: Profile) -> Flag | None:
        for name in _HOST_POOL_FLAGS:
            flag = profile.flag(name)
            if flag and flag.value:
                return flag
        switched_on = any((flag := profile.flag(name)) and flag.value for name in _HOST_POOL_SWITCHES)
        if not switched_on:
            return None
        return Flag(name="hicache_ratio", value=_DEFAULT_RATIO, unit="ratio", scope="per-rank")

    def fold(self, report: LogReport, line: str) -> LogReport:
        """One more line of the log."""
        return LOG.fold(report, line)

    def read_log(self, lines: Iterable[str]) -> LogReport:
        """A whole log."""
        return reduce(self.fold, lines, LogReport())

    def generate(self, prompt: str, max_tokens: int, _model: str) -> tuple[str, str, bytes]:
        """The native endpoint: it needs no model name and counts its tokens."""
        sampling = {"max_new_tokens": max_tokens, "temperature": 0, "ignore_eos": True}
        return "POST", "/generate", json.dumps({"text": prompt, "sampling_params": sampling}).encode()

    def parse_generation(self, body: bytes) -> Generation:
        """`{"text": ..., "meta_info": {"completion_tokens": N}}`."""
        answer = _json_object(body)
        meta = answer.get("meta_info")
        tokens = meta.get("completion_tokens") if isinstance(meta, dict) else None
        if not isinstance(tokens, int) or not isinstance(answer.get("text"), str):
            raise ValueError(complaint(answer))  # noqa: TRY004 - the promised error
        return Generation(tokens=tokens, text=answer["text"])

    def parse_info(self, body: bytes) -> tuple[PoolSizes, ...]:
        """`max_total_num_tokens` at the top: the device pool of one rank. The host pool is not told here."""
        answer = _json_object(body)
        tokens = answer.get("max_total_num_tokens")
        if not isinstance(tokens, int):
            raise ValueError(complaint(answer))  # noqa: TRY004 - the promised error
        return (PoolSizes(device_tokens=tokens),)

    def parse_metrics(self, text: str) -> tuple[PoolSizes, ...]:
        """The pools' gauges by rank, as their labels tell."""
        pools: dict[str, dict[str, int]] = {}
        for sample in samples(text):
            if sample.name in {_DEVICE_METRIC, _HOST_METRIC} and (count := sample.count) is not None:
                pools.setdefault(_rank_label(sample.labels), {})[sample.name] = count
        return tuple(
            PoolSizes(rank=rank, device_tokens=pool.get(_DEVICE_METRIC), host_tokens=pool.get(_HOST_METRIC))
            for rank, pool in sorted(pools.items(), key=lambda item: (len(item[0]), item[0]))
        )

    def parse_others(self, text: str) -> Others | None:
        """The scheduler's gauges, one set for each data-parallel group."""
        groups: dict[str, dict[str, int]] = {}
        for sample in samples(text):
            if sample.name in {_RUNNING_METRIC, _WAITING_METRIC} and (count := sample.count) is not None:
                groups.setdefault(sample.labels.get("dp_rank", ""), {})[sample.name] = count
        running, waiting = (
            [group[name] for group in groups.values() if name in group]
            for name in (_RUNNING_METRIC, _WAITING_METRIC)
        )
        return Others(running=sum(running), waiting=sum(waiting)) if running else None

    def owns_segment(self, name: str) -> bool:
        """`sgl_shm_KIND_PID_RAND` and `multi_tokenizer_args_*` (sglang PR #28089)."""
        return file_name(name).startswith(_OWN_SEGMENTS)

    def may_own_segment(self, name: str) -> bool:
        """`psm_*` (Python), `nccl-*`, `torch_*` and the like."""
        return file_name(name).startswith(COMMON_SEGMENTS)


def _size(text: str | None) -> int:
    return max(1, int(text)) if text and text.isdecimal() else 1


def _is_size(name: str) -> bool:
    """`auto` is a value of its own for many flags (dtype, ...); only sizes wait for fleetops."""
    return name in _HOST_POOL_FLAGS or name == "cpu_offload_gb"


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except RecursionError as error:
        raise ValueError("JSON nested too deeply") from error
    if isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    if not isinstance(answer, dict):
        raise ValueError(f"expected a JSON object, got {body[:80]!r}")  # noqa: TRY004 - the promised error
    return answer


def _rank_label(labels: Mapping[str, str]) -> str:
    return " ".join(
        f"{short}{labels[name]}" for name, short in _RANK_LABELS if labels.get(name, "").isdecimal()
    )


ENGINE = Sglang()
