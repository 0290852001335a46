"""One stand-in service as all its processes know it: its arguments, its model, its GPUs, its sizes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fleetops.lab.engine.capacity import GIB, MIB, Model, read_model
from fleetops.lab.engine.devices import Device, visible
from fleetops.lab.engine.errors import EngineError
from fleetops.lab.engine.memory import HostMemory
from fleetops.lab.engine.places import Places

VERSION = "0.32.0"
# What a rank needs on its GPU beside weights and KV cache: CUDA context, activations, graphs.
CONTEXT_MIB, GRAPHS_MIB = 3000, 600
# Host memory that a worker's CUDA context and staging buffers take.
CONTEXT_HOST_BYTES = 1_050_000_000


@dataclass(frozen=True, kw_only=True)
class Service:
    """Made by the API server and inherited by every process that it forks."""

    args: Mapping[str, Any]
    places: Places
    model: Model
    devices: tuple[Device, ...]
    host: HostMemory

    @property
    def ranks(self) -> int:
        """How many workers there are."""
        return int(self.args["tensor_parallel_size"])

    @property
    def context_tokens(self) -> int:
        """The longest context of one request."""
        return int(self.args["max_model_len"] or self.model.context_tokens)

    @property
    def cache_bytes(self) -> int:
        """What is left for the KV cache on one GPU; zero or less where there is nothing."""
        total = min(device.total_mib for device in self.devices) * MIB
        weights = self.model.weight_bytes - int(self.args["cpu_offload_gb"] * GIB)
        return int(total * self.args["gpu_memory_utilization"]) - max(weights, 0) - CONTEXT_MIB * MIB

    @property
    def cache_tokens(self) -> int:
        """Of the whole server: a token lies on all ranks. Whole blocks."""
        block = int(self.args["block_size"])
        return self.cache_bytes // (self.model.cell_bytes * block) * block

    @property
    def offload_bytes(self) -> int:
        """Host memory of each worker: its part of the offloaded KV cache, and its own offloaded weights."""
        cache = int((self.args["kv_offloading_size"] or 0) * GIB) // self.ranks
        return cache + int(self.args["cpu_offload_gb"] * GIB)


def prepare(args: Mapping[str, Any], places: Places) -> Service:
    """Read the model and choose the GPUs. Raises EngineError."""
    devices, ranks = visible(places), int(args["tensor_parallel_size"])
    if not devices:
        raise EngineError("RuntimeError", "Failed to infer device type")
    if ranks > len(devices):
        raise EngineError(
            "ValueError", f"World size ({ranks}) is larger than the number of available GPUs ({len(devices)})"
        )
    path = Path(args["model"])
    try:
        config, lab = (json.loads((path / name).read_text()) for name in ("config.json", "lab.json"))
    except OSError:
        raise EngineError("OSError", f"Can't load the configuration of '{path}'.") from None
    model = read_model(config, lab, ranks)
    return Service(
        args=args, places=places, model=model, devices=tuple(devices[:ranks]), host=HostMemory(places)
    )
