"""A worker: holds one GPU, takes part in every pass, and goes with its engine core (v1/executor/multiproc_executor.py)."""

import os
import signal
import threading
import time
from typing import NoReturn

from fleetops.lab.driver import Ledger
from fleetops.lab.engine import devices, fate, kernel
from fleetops.lab.engine.capacity import GIB, MIB
from fleetops.lab.engine.channel import Channel
from fleetops.lab.engine.errors import EngineError
from fleetops.lab.engine.memory import Exhausted, Pinned
from fleetops.lab.engine.segments import Segments, nccl_name
from fleetops.lab.vllm.log import Log
from fleetops.lab.vllm.service import CONTEXT_HOST_BYTES, CONTEXT_MIB, GRAPHS_MIB, Service

_SHARDS = 4
_THREADS = 3


class Holding:
    """What one rank holds: its GPU's memory, host memory, device files, segments. Loaded stage by stage."""

    def __init__(self, service: Service, number: int, log: Log) -> None:
        self._service = service
        self._number = number
        self._log = log
        self._device = service.devices[number]
        self._used_mib = 0
        self._segments = Segments(service.places.shm)

    def load(self, title: str) -> None:
        """Take everything, as the start goes. Raises EngineError; a host that has nothing left kills the process."""
        self._entry = Ledger(self._service.places.driver).take(title)
        self._pinned = Pinned(self._service.host, self._entry, self._service.places.pace)
        for _ in range(_THREADS):
            threading.Thread(target=threading.Event().wait, daemon=True).start()
        self._files = devices.hold(self._service.places)
        try:
            self._take_all()
        except Exhausted:
            fate.meet(fate.Fate.KILLED, self._entry, None, self._service.places.driver)

    def _take_all(self) -> None:
        service, log = self._service, self._log
        self._pinned.take(CONTEXT_HOST_BYTES)
        self._segments.make(nccl_name(), 2)
        self._use(CONTEXT_MIB)
        begun = time.perf_counter()
        log.line("gpu_model_runner.py:4979", f"Starting to load model {service.args['model']}...")
        for _ in range(_SHARDS):
            self._pause(0.1)
            self._use(max(service.model.weight_bytes // MIB // _SHARDS, 1))
        elapsed = time.perf_counter() - begun
        size = service.model.weight_bytes / GIB
        log.line("default_loader.py:501", f"Loading weights took {elapsed:.2f} seconds")
        log.line(
            "gpu_model_runner.py:5089", f"Model loading took {size:.2f} GiB memory and {elapsed:.6f} seconds"
        )
        log.line("gpu_worker.py:773", f"Available KV cache memory: {service.cache_bytes / GIB:.2f} GiB")
        if service.cache_tokens <= 0:
            raise EngineError(
                "ValueError",
                "No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.",
            )
        self._use(service.cache_tokens * service.model.cell_bytes // MIB)
        if service.offload_bytes:
            log.line("gpu_worker.py:815", "Allocating 1 CPU tensors...")
            self._pinned.take(service.offload_bytes)

    def capture(self) -> None:
        """CUDA graphs."""
        if self._service.args["enforce_eager"]:
            return
        begun = time.perf_counter()
        self._pause(0.2)
        self._use(GRAPHS_MIB)
        took = time.perf_counter() - begun
        self._log.line(
            "gpu_model_runner.py:6517",
            f"Graph capturing finished in {took:.0f} secs, took {GRAPHS_MIB / 1024:.2f} GiB",
        )

    def give_back(self) -> None:
        """A clean end."""
        self._segments.unlink()
        self._entry.close()

    def _use(self, size_mib: int) -> None:
        (free,) = devices.free_bytes(self._service.places, [self._device])
        if size_mib > free // MIB:
            raise EngineError(
                "torch.OutOfMemoryError",
                f"CUDA out of memory. Tried to allocate {size_mib / 1024:.2f} GiB. GPU {self._number} has a total "
                f"capacity of {self._device.total_mib / 1024:.2f} GiB of which {free / GIB:.2f} GiB is free.",
            )
        self._used_mib += size_mib
        self._entry.set(gpu_mib={self._device.minor: self._used_mib})

    def _pause(self, seconds: float) -> None:
        time.sleep(seconds * self._service.places.pace)


def run(service: Service, number: int, core: Channel) -> NoReturn:
    """A process of its own: load, say so, and take part in every pass until the engine core is gone."""
    name = f"Worker_TP{number}"
    kernel.set_title(f"VLLM::{name}")
    log = Log(name)
    holding = Holding(service, number, log)
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: _leave(holding))
    try:
        holding.load(f"VLLM::{name}")
        holding.capture()
    except EngineError as error:
        log.fails("multiproc_executor.py:1057", f"WorkerProc failed to start.\n{error.kind}: {error.text}")
        core.send({"failed": f"{error.kind}: {error.text}"})
        os._exit(1)
    core.send({"ready": number})
    try:
        while core.receive():
            core.send({"done": number})
    except EOFError:  # the death pipe: the engine core has gone
        _leave(holding)
    os._exit(0)


def _leave(holding: Holding) -> NoReturn:
    holding.give_back()
    os._exit(0)
