"""How vLLM's processes look, release by release (0.8.5 to 0.33.0).

The API server keeps its command line and starts `EngineCore`, one for each data-parallel group, which starts the
`Worker`s. With one rank on a GPU there is no worker: the engine core runs the model itself (the uniproc executor). Titles
came after 0.8.5, need the package setproctitle, and start with $VLLM_PROCESS_NAME_PREFIX (utils/system_utils.py).
"""

import re
from collections.abc import Iterable, Mapping

from fleetops.engines.support.command_line import file_name, program
from fleetops.engines.support.finder import Shape, apart, is_spawned_helper
from fleetops.engines.support.protected import COMM_LENGTH
from fleetops.model.machine import Process

MODULE = "vllm.entrypoints.cli.main"
_SERVER_MODULES = frozenset({"vllm.entrypoints.openai.api_server"})
_SERVER_SCRIPTS = ("vllm/entrypoints/openai/api_server.py",)
_COMMAND_MODULES = frozenset({MODULE})
_COMMAND_SCRIPTS = ("vllm/entrypoints/cli/main.py",)
CONSOLE_SCRIPT = "vllm"
_SUBCOMMAND = "serve"
_DEFAULT_PORT = 8000

_TITLES = "VLLM::"
# `VLLM::Worker_DP1_PP0_TP3_EP3`: a part is there only when that size is above one.
_TITLE = re.compile(
    r"(?P<prefix>\S+?)::(?P<name>EngineCore|Worker|APIServer|DPCoordinator)(?:_[A-Z]*\d+)*(?:\s.*)?"
)
_TP_PART = re.compile(r"_TP(\d+)(?:_|$)")
# Other programs that title their processes in this form.
_FOREIGN = frozenset({"sglang", "ray"})

# argparse's short spellings with one dash (engine/arg_utils.py), which no other flag is spelled like.
_SHORT = {
    "-tp": "tensor-parallel-size",
    "-pp": "pipeline-parallel-size",
    "-dp": "data-parallel-size",
    "-dpl": "data-parallel-size-local",
    "-pcp": "prefill-context-parallel-size",
    "-dcp": "decode-context-parallel-size",
    "-n": "nnodes",
    "-r": "node-rank",
}
PARALLEL_FLAGS = (
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "prefill_context_parallel_size",
    "data_parallel_size",
    "data_parallel_size_local",
    "nnodes",
)
"""What `rank_count` looks at."""
_ALIASES = {"tp": "tensor_parallel_size", "pp": "pipeline_parallel_size", "dp": "data_parallel_size"}


def server_arguments(argv: tuple[str, ...]) -> tuple[str, ...] | None:
    """The server's arguments where this argv runs `vllm serve` or the API server's module, else None."""
    running = program(argv)
    if running is None:
        return None
    kind, name, arguments = running.kind, running.name, running.arguments
    if (kind == "module" and name in _SERVER_MODULES) or (
        kind == "script" and name.endswith(_SERVER_SCRIPTS)
    ):
        return _spelled_out(arguments)
    is_command = (
        (kind == "module" and name in _COMMAND_MODULES)
        or (kind == "script" and name.endswith(_COMMAND_SCRIPTS))
        or (kind in {"script", "binary"} and file_name(name) == CONSOLE_SCRIPT)
    )
    if not is_command or arguments[:1] != (_SUBCOMMAND,):
        return None
    return _spelled_out(arguments[1:])


def _spelled_out(arguments: Iterable[str]) -> tuple[str, ...]:
    """`-tp 8` and `-tp=8` as `--tensor-parallel-size 8`."""
    words: list[str] = []
    for word in arguments:
        name, equals, value = word.partition("=")
        words.append(f"--{_SHORT[name]}{equals}{value}" if name in _SHORT else word)
    return tuple(words)


def rank_number(title: str) -> int | None:
    """The tensor-parallel rank in a worker's title; a server of one rank bears no number and is rank 0."""
    found = _TITLE.fullmatch(title)
    if found is None or found["name"] not in {"Worker", "EngineCore"}:
        return None
    part = _TP_PART.search(title)
    return int(part[1]) if part else 0


def rank_count(flags: Mapping[str, str]) -> int:
    """Worker processes on one node."""
    groups = _size(_named(flags).get("data_parallel_size_local") or _named(flags).get("data_parallel_size"))
    return max(1, ranks_of_a_core(flags) * groups)


def ranks_of_a_core(flags: Mapping[str, str]) -> int:
    """Workers on one node under one engine core."""
    sizes = _named(flags)
    names = ("tensor_parallel_size", "pipeline_parallel_size", "prefill_context_parallel_size")
    tensor, pipeline, context = (_size(sizes.get(name)) for name in names)
    return max(1, tensor * pipeline * context // _size(sizes.get("nnodes")))


def _named(flags: Mapping[str, str]) -> dict[str, str]:
    return {_ALIASES.get(name, name): value for name, value in flags.items()}


def _size(text: str | None) -> int:
    first = (text or "").partition(" ")[0]  # a positional argument may follow it
    return max(1, int(first)) if first.isdecimal() else 1


def _title(process: Process) -> str:
    """The name in its title (`Worker`), "" where it has none. A zombie's is what the kernel keeps of it."""
    if process.cmdline:
        found = _TITLE.fullmatch(process.cmdline[0])
        return found["name"] if found and found["prefix"] not in _FOREIGN else ""
    rest = process.comm.removeprefix(_TITLES) if process.comm.startswith(_TITLES) else ""
    names = ("EngineCore", "Worker", "APIServer", "DPCoordinator")
    return next((name for name in names if rest and (rest.startswith(name) or name.startswith(rest))), "")


def is_worker(process: Process) -> bool:
    """One of vLLM's own processes by its title, also under another prefix, or by what the kernel keeps of it."""
    return process.comm.startswith(_TITLES[:COMM_LENGTH]) or bool(_title(process))


def ranks(members: tuple[Process, ...], flags: Mapping[str, str] | None) -> frozenset[int]:
    """The pids of the ranks: workers; engine cores where these run the model; without titles, what can only be them."""
    workers = apart(process for process in members if _title(process) == "Worker")
    if workers:
        return workers
    cores = apart(process for process in members if _title(process) == "EngineCore")
    if cores:
        return cores if flags is None or ranks_of_a_core(flags) == 1 else frozenset()
    return _untitled_ranks(members, flags)


def _untitled_ranks(members: tuple[Process, ...], flags: Mapping[str, str] | None) -> frozenset[int]:
    """Of processes without a title those that started no other: they are the ranks once there are as many as wanted."""
    pids = {process.pid for process in members}
    found = {p.pid: p for p in members if is_spawned_helper(p) or server_arguments(p.cmdline) is not None}
    found |= {p.pid: p for p in members if p.is_zombie and p.comm.startswith("python") and p.ppid in pids}
    parents = {process.ppid for process in found.values()}
    leaves = frozenset(pid for pid in found if pid not in parents)
    return leaves if flags is None or len(leaves) == rank_count(flags) else frozenset()


SHAPE = Shape(
    engine="vllm",
    is_worker=is_worker,
    ranks=ranks,
    rank_number=rank_number,
    server_arguments=server_arguments,
    default_port=_DEFAULT_PORT,
)
