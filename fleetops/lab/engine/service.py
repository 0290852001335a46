"""One stand-in service as all its processes know it: its arguments, its model, its GPUs, its sizes."""

import json
import os
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fleetops.lab.engine import capacity
from fleetops.lab.engine.capacity import MIB, Model
from fleetops.lab.engine.devices import Device, visible
from fleetops.lab.engine.errors import EngineError
from fleetops.lab.engine.memory import HostMemory
from fleetops.lab.engine.places import Places

# What a rank needs on its GPU beside weights and KV cache: CUDA context with NCCL's buffers, CUDA graphs.
CONTEXT_MIB = 3000
GRAPHS_MIB = 7100
# Host memory that a rank's CUDA context and pinned staging buffers take.
CONTEXT_HOST_BYTES = 1_050_000_000
_MAX_RUNNING = 2048


@dataclass(frozen=True, kw_only=True)
class Service:
    """Made by the launcher and inherited by every process that it forks.

    Attributes:
        args: the fields of ServerArgs, resolved.
        folder: the engine's source, for the file names in tracebacks.
        model: what the arithmetic needs of the model.
        devices: the GPU of each rank, in order of rank.
        host: what the host has left.
    """

    args: Mapping[str, Any]
    folder: Path
    places: Places
    model: Model
    devices: tuple[Device, ...]
    host: HostMemory

    @property
    def ranks(self) -> int:
        """How many scheduler processes there are."""
        return int(self.args["tp_size"])

    @property
    def device_tokens(self) -> int:
        """Tokens of the GPU pool of one rank."""
        return capacity.device_tokens(
            min(device.total_mib for device in self.devices) * MIB,
            self.args["mem_fraction_static"],
            self.model,
            page=self.args["page_size"],
            cap=self.args["max_total_tokens"],
        )

    @property
    def host_tokens(self) -> int:
        """Tokens of the host pool of one rank."""
        size, ratio = self.args["hicache_size"], self.args["hicache_ratio"]
        return capacity.host_tokens(size, ratio, self.device_tokens, self.model, page=self.args["page_size"])

    @property
    def context_tokens(self) -> int:
        """The longest context of one request."""
        return int(self.args["context_length"] or self.model.context_tokens)

    @property
    def max_running(self) -> int:
        """How many requests may run at once."""
        return int(self.args["max_running_requests"] or _MAX_RUNNING)


def prepare(given: Mapping[str, Any], folder: Path, places: Places) -> Service:
    """Resolve what the command line left open, as ServerArgs.__post_init__ does. Raises EngineError."""
    devices = visible(places)
    ranks = given["tp_size"]
    model = _model(given, ranks)
    first, step = given["base_gpu_id"], given["gpu_id_step"]
    wanted = [first + rank * step for rank in range(ranks)]
    if not devices:
        raise EngineError("RuntimeError", "No CUDA GPUs are available")
    if wanted[-1] >= len(devices):
        raise EngineError("RuntimeError", "CUDA error: invalid device ordinal")
    chosen = tuple(devices[index] for index in wanted)
    args = _resolve(given, chosen[0].listed_mib)
    return Service(
        args=args, folder=folder, places=places, model=model, devices=chosen, host=HostMemory(places)
    )


def _model(given: Mapping[str, Any], ranks: int) -> Model:
    path = Path(given["model_path"])
    try:
        config = json.loads((path / "config.json").read_text())
        lab = json.loads((path / "lab.json").read_text())
    except OSError:
        raise EngineError(
            "OSError",
            f"Can't load the configuration of '{path}'. If you were trying to load it from "
            "'https://huggingface.co/models', make sure you don't have a local directory with the same name. "
            f"Otherwise, make sure '{path}' is the correct path to a directory containing a config.json file",
        ) from None
    return capacity.read_model(config, lab, ranks)


def _resolve(given: Mapping[str, Any], gpu_mib: int) -> dict[str, Any]:
    """server_args.py:915 and on: sizes by GPU memory, names from the model path."""
    graph_batch = given["cuda_graph_max_bs"] or (256 if given["tp_size"] < 4 else 512)
    prefill = given["chunked_prefill_size"] or 8192
    usual = capacity.static_fraction(gpu_mib, given["tp_size"], prefill, graph_batch)
    found: dict[str, Any] = {
        "tokenizer_path": given["model_path"],
        "served_model_name": given["model_path"],
        "device": "cuda",
        "chunked_prefill_size": prefill,
        "cuda_graph_max_bs": graph_batch,
        "mem_fraction_static": usual,
        "page_size": 1,
        "attention_backend": "fa3",
        "sampling_backend": "flashinfer",
        "grammar_backend": "xgrammar",
        "random_seed": random.Random(os.getpid()).randrange(10**9),  # noqa: S311 (no secret)
    }
    return {name: found.get(name) if value is None else value for name, value in given.items()}
