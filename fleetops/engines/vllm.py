"""vLLM, 0.8.5 to 0.33.0: processes, command line, log, endpoints, shared memory.

Read in the wheels of those releases and seen on a live server of 0.32.0. Its pools are the whole server's, not a rank's,
and its /health says 200 while a worker is stopped: only a generation shows that it serves.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce

from fleetops.engines.base import Generation, PoolSizes
from fleetops.engines.support import openai
from fleetops.engines.support.command_line import file_name, write_flags
from fleetops.engines.support.finder import find_services
from fleetops.engines.support.prometheus import Sample, samples
from fleetops.engines.support.segments import COMMON_SEGMENTS
from fleetops.engines.support.vllm_log import LOG
from fleetops.engines.support.vllm_shape import CONSOLE_SCRIPT, MODULE, PARALLEL_FLAGS, SHAPE, rank_count
from fleetops.model.engine import LogReport, Service, ServiceRecord
from fleetops.model.fleet import AUTO, Flag, FlagScope, FlagValue, Profile
from fleetops.model.load import Others
from fleetops.model.machine import Listener, Process

# config/cache.py, config/offload.py: what their numbers mean is proven on the node. `swap_space` is gone from 0.20.0 on,
# and allocates nothing from 0.11.0 on.
_HOST_MEMORY = ("kv_offloading_size", "cpu_offload_gb", "swap_space")
# Ports that a command line may name beside the HTTP port.
_PORT_FLAGS = ("master_port", "data_parallel_rpc_port")

# v1/kv_offload/cpu/shared_offload_region.py, distributed/ec_transfer/ec_connector/cpu/ec_shared_region.py.
_OWN_SEGMENTS = ("vllm_offload_", "vllm_ec_")

_CACHE_METRIC, _CACHE_LABEL = "vllm:cache_config_info", "kv_cache_size_tokens"
_RUNNING_METRIC, _WAITING_METRIC = "vllm:num_requests_running", "vllm:num_requests_waiting"


@dataclass(frozen=True)
class Vllm:
    """The engine, as `engines/base.py` describes one."""

    name: str = "vllm"
    title: str = "vLLM"
    tensor_flag: str = "tensor_parallel_size"
    # 503 where the engine core is known to be dead; the port opens only after the engine is up.
    ready_paths: tuple[str, ...] = ("/health",)
    # /server_info answers in development mode only.
    info_paths: tuple[str, ...] = ()
    metrics_path: str = "/metrics"
    names_model: bool = True
    counted_flags: frozenset[str] = frozenset((*_HOST_MEMORY, *PARALLEL_FLAGS, "kv_offloading_backend"))
    pools_of: FlagScope = "total"

    def find_services(
        self,
        processes: Iterable[Process],
        listeners: Iterable[Listener] = (),
        records: Iterable[ServiceRecord] = (),
    ) -> tuple[Service, ...]:
        """Servers with all under them, and the engine cores that killed servers left behind."""
        return find_services(SHAPE, processes, listeners, records)

    def is_worker(self, process: Process) -> bool:
        """`VLLM::EngineCor`, `VLLM::Worker_TP`, `VLLM::APIServer`, ..., also under another prefix while it lives."""
        return SHAPE.is_worker(process)

    def expected_ranks(self, flags: Mapping[str, str]) -> int:
        """Tensor x pipeline ranks of each data-parallel group on this node."""
        return rank_count(flags)

    def argv(self, profile: Profile, values: Mapping[str, FlagValue]) -> tuple[str, ...]:
        """`COMMAND serve MODEL ...` where COMMAND ends in `vllm`, else it is an interpreter: `COMMAND -m vllm... serve`.

        The module has the very command line of the console script, from 0.8.5 on.
        """
        flags = {flag.name: values.get(flag.name, flag.value) for flag in profile.flags}
        unsized = [name for name, value in flags.items() if value == AUTO and name in _HOST_MEMORY]
        if unsized:
            raise ValueError(f"{', '.join(unsized)} is auto in profile {profile.name} and has not been sized")
        head: dict[str, FlagValue] = {self.tensor_flag: profile.ranks, "port": profile.port}
        is_script = file_name(profile.command[-1]) == CONSOLE_SCRIPT
        start = profile.command if is_script else (*profile.command, "-m", MODULE)
        return (*start, "serve", profile.model, *write_flags({**head, **flags}))

    def ports(self, port: int, flags: Mapping[str, str]) -> tuple[int, ...]:
        """The HTTP port, and those for other nodes that are named; the rest are the kernel's choice."""
        said = (flags.get(name, "") for name in _PORT_FLAGS)
        return (port, *(int(text) for text in said if text.isdecimal()))

    def host_memory_flags(self, profile: Profile) -> tuple[Flag, ...]:
        """The flags of which it takes host memory, as far as the profile sets them: none does by its default."""
        found = (profile.flag(name) for name in _HOST_MEMORY)
        return tuple(flag for flag in found if flag and flag.value)

    def fold(self, report: LogReport, line: str) -> LogReport:
        """One more line of the log."""
        return LOG.fold(report, line)

    def read_log(self, lines: Iterable[str]) -> LogReport:
        """A whole log."""
        return reduce(self.fold, lines, LogReport())

    def generate(self, prompt: str, max_tokens: int, model: str) -> tuple[str, str, bytes]:
        """OpenAI's completions, answered whole."""
        return "POST", openai.COMPLETIONS, openai.completion(model, prompt, max_tokens, stream=False)

    def parse_generation(self, body: bytes) -> Generation:
        """The count is the engine's own; its text may be half a character."""
        tokens, text = openai.read_completion(body)
        return Generation(tokens=tokens, text=text)

    def parse_info(self, body: bytes) -> tuple[PoolSizes, ...]:
        """Nothing is asked, so nothing is understood."""
        raise ValueError(f"vLLM has no info path, and this came: {body[:80]!r}")

    def parse_metrics(self, text: str) -> tuple[PoolSizes, ...]:
        """The pool of each engine core, by a label of its settings; releases that lack it say nothing here."""
        found = ((sample.labels.get(_CACHE_LABEL, ""), sample) for sample in _named(text, _CACHE_METRIC))
        return tuple(
            PoolSizes(rank=_core(sample), device_tokens=int(tokens))
            for tokens, sample in found
            if tokens.isdecimal()
        )

    def parse_others(self, text: str) -> Others | None:
        """All engine cores together."""
        running, waiting = (
            [count for sample in _named(text, name) if (count := sample.count) is not None]
            for name in (_RUNNING_METRIC, _WAITING_METRIC)
        )
        return Others(running=sum(running), waiting=sum(waiting)) if running else None

    def owns_segment(self, name: str) -> bool:
        """`vllm_offload_ENGINE.mmap`, `vllm_ec_ENGINE.mmap`."""
        return file_name(name).startswith(_OWN_SEGMENTS)

    def may_own_segment(self, name: str) -> bool:
        """`psm_*` (Python), `nccl-*`, `torch_*` and the like."""
        return file_name(name).startswith(COMMON_SEGMENTS)


def _named(text: str, name: str) -> Iterable[Sample]:
    return (sample for sample in samples(text) if sample.name == name)


def _core(sample: Sample) -> str:
    number = sample.labels.get("engine", "")
    return f"DP{number}" if number.isdecimal() else ""


ENGINE = Vllm()
