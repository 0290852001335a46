"""One scheduler process: its start, stage by stage, as SGLang 0.5.9 goes and logs it (managers/scheduler.py)."""

import os
import signal
import threading
import time
from typing import NoReturn

from fleetops.lab.driver import Ledger
from fleetops.lab.engine import devices, fate, kernel
from fleetops.lab.engine.capacity import GIB, MIB
from fleetops.lab.engine.channel import Channel
from fleetops.lab.engine.errors import EngineError, Frame, traceback
from fleetops.lab.engine.log import Log, gib, write
from fleetops.lab.engine.memory import Exhausted, Pinned
from fleetops.lab.engine.scheduling import Scheduler
from fleetops.lab.engine.segments import Segments, nccl_name, sglang_name
from fleetops.lab.engine.service import CONTEXT_HOST_BYTES, CONTEXT_MIB, GRAPHS_MIB, Service
from fleetops.lab.engine.wiring import Group, Wiring

_SHARDS = 8
_WORKERS = 3
_RESERVE_BYTES = 10 * GIB
ORPHANS, STUBBORN, SLOW = OUTLIVING = ("orphans", "stubborn", "slow-reclaim")
"""The faults (places.py) by which ranks outlive their launcher."""
_SCHEDULER: Frame = ("srt/managers/scheduler.py", "run_scheduler_process", "scheduler = Scheduler(")
_RUNNER: Frame = ("srt/managers/tp_worker.py", "_init_model_runner", "self._model_runner = ModelRunner(")
_TREE: Frame = (
    "srt/managers/scheduler.py",
    "init_cache_with_memory_pool",
    "self.tree_cache = HiRadixCache(params=params, server_args=server_args)",
)


class Rank:
    """A rank while it starts."""

    def __init__(self, service: Service, wiring: Wiring, number: int) -> None:
        self.service = service
        self.number = number
        self.prefix = f" TP{number}" if service.ranks > 1 else ""
        self.title = "sglang::scheduler" + self.prefix.replace(" ", "_")
        self.log = Log(self.prefix)
        self.group = Group(wiring, number)
        self._wiring = wiring
        self._device = service.devices[number]
        self._used_mib = 0
        self._segments = Segments(service.places.shm)

    def run(self, ready: Channel) -> NoReturn:
        """Start, say that it is ready, and serve for ever."""
        kernel.set_title(self.title)
        self._wiring.requests[0].close()  # the launcher's end: while a copy lives, its death goes unnoticed
        self._arrange_signals()
        try:
            self._start()
        except Exhausted:
            port = self._wiring.port if self.number == 0 else None
            ending = fate.fate_of(self.number, self.service.ranks)
            fate.meet(ending, self._entry, port, self.service.places.driver)
        except EngineError as error:
            self._fail(error)
        tokens = self.service.device_tokens
        longest = min(self.service.context_tokens, tokens) - 6
        ready.send({"status": "ready", "max_total_num_tokens": tokens, "max_req_input_len": longest})
        self._serve()
        os._exit(1)

    def _fail(self, error: EngineError) -> NoReturn:
        """What run_scheduler_process does with whatever it cannot handle."""
        self.log.line(f"Scheduler hit an exception: {traceback(error, self.service.folder)}")
        os.kill(os.getppid(), signal.SIGQUIT)
        os._exit(0)

    def _arrange_signals(self) -> None:
        """Die with the launcher, as the real one does, but for a rank that shall outlive it."""
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, lambda *_: self._leave())
        if self.service.places.fault == STUBBORN:
            kernel.ignore_polite_signals()
        if not (self._becomes_ghost or self.service.places.fault in OUTLIVING):
            kernel.when_parent_dies(signal.SIGKILL)
        if self._wiring.port and self.number:
            self._wiring.port.close()

    def _leave(self) -> NoReturn:
        self._segments.unlink()
        self._entry.close()  # what outlives the rank by its fault is an entry of its own
        os._exit(0)

    def _serve(self) -> None:
        if self.number:
            self.group.follow()
        if self._wiring.port and not self._becomes_ghost:
            self._wiring.port.close()
        try:
            Scheduler(self.service, self.log, self.group).serve(
                self._wiring.requests[1], self._wiring.tokens[0]
            )
        except EngineError as error:
            self._fail(error)
        except EOFError:  # the launcher is gone
            if self._becomes_ghost:
                fate.become_ghost(self._wiring.port)
            while self.service.places.fault in OUTLIVING:
                signal.pause()

    @property
    def _becomes_ghost(self) -> bool:
        return self.number == 0 and self.service.places.fault == "ghost-leader"

    def _start(self) -> None:
        ledger = Ledger(self.service.places.driver)
        self._entry = pinned = ledger.take(self.title)
        if self.service.places.fault == SLOW:
            pinned = ledger.take(self.title)
            pinned.set(leak=True)
        self._pinned = Pinned(self.service.host, pinned, self.service.places.pace)
        for _ in range(_WORKERS):
            threading.Thread(target=threading.Event().wait, daemon=True).start()
        self._join_group()
        self._load_weights()
        self._make_device_pool()
        if not self.service.args["disable_cuda_graph"]:
            self._capture_graphs()
        self._tell_capacity()
        if self.service.args["enable_hierarchical_cache"]:
            self._make_host_pool()
        self.group.barrier()

    def _join_group(self) -> None:
        begun = time.perf_counter()
        self.log.line("Init torch distributed begin.")
        free = devices.free_bytes(self.service.places, list(self.service.devices))
        self._files = devices.hold(self.service.places)
        self._segments.make(nccl_name(), 2)
        if self.number == 0:
            self._segments.make(sglang_name("broadcast"), 4)
        self._pinned.take(CONTEXT_HOST_BYTES)
        self._pause(0.25)
        self.group.barrier()
        own = free[self.number]
        if self.service.ranks > 1 and min(free) < own * 0.9:
            raise _unbalanced(min(free), own)
        self._use(CONTEXT_MIB)
        elapsed, used = time.perf_counter() - begun, CONTEXT_MIB * MIB
        self.log.line(f"Init torch distributed ends. elapsed={elapsed:.2f} s, mem usage={gib(used)}")

    def _load_weights(self) -> None:
        begun, model = time.perf_counter(), self.service.model
        self.log.line(f"Load weight begin. avail mem={self._free()}")
        for shard in range(_SHARDS + 1):
            if self.number == 0:
                write(_progress("Loading safetensors checkpoint shards", shard, time.perf_counter() - begun))
            if shard < _SHARDS:
                self._pause(0.12)
                self._use(model.weight_bytes // MIB // _SHARDS)
        self._use(model.weight_bytes // MIB % _SHARDS + 1)
        self.log.line(
            f"Load weight end. elapsed={time.perf_counter() - begun:.2f} s, type={model.architecture}, "
            f"dtype=torch.bfloat16, avail mem={self._free()}, mem usage={gib(model.weight_bytes)}."
        )

    def _make_device_pool(self) -> None:
        tokens, cell = self.service.device_tokens, self.service.model.cell_bytes
        if tokens <= 0:
            raise _too_small(self.service.args["mem_fraction_static"])
        self._pause(0.1)
        self._use(tokens * cell // MIB)
        self.group.barrier()
        half = gib(tokens * cell / 2)
        sizes = (
            f"KV size: {gib(tokens * cell)}"
            if self.service.model.latent
            else f"K size: {half}, V size: {half}"
        )
        self.log.line(f"KV Cache is allocated. #tokens: {tokens}, {sizes}")
        self.log.line(f"Memory pool end. avail mem={self._free()}")

    def _capture_graphs(self) -> None:
        begun, most = time.perf_counter(), self.service.args["cuda_graph_max_bs"]
        self.log.line(
            f"Capture cuda graph begin. This can take up to several minutes. avail mem={self._free()}"
        )
        for step, batch in enumerate((most, most // 4, 16, 1)):
            if self.number == 0:
                name = f"Capturing batches (bs={batch} avail_mem={self._free()})"
                write(f"\r{name}: {step * 25:3d}%|{'█' * step * 2:<8}| {step}/4")
            self._pause(0.15)
            self._use(GRAPHS_MIB // 4)
        if self.number == 0:
            write("\n")
        self.log.line(
            f"Capture cuda graph end. Time elapsed: {time.perf_counter() - begun:.2f} s. "
            f"mem usage={gib(GRAPHS_MIB * MIB)}. avail mem={self._free()}."
        )

    def _tell_capacity(self) -> None:
        args = self.service.args
        if self.number == 0:
            self.log.line(
                f"max_total_num_tokens={self.service.device_tokens}, "
                f"chunked_prefill_size={args['chunked_prefill_size']}, "
                f"max_prefill_tokens={args['max_prefill_tokens']}, "
                f"max_running_requests={self.service.max_running}, "
                f"context_len={self.service.context_tokens}, available_gpu_mem={self._free()}"
            )

    def _make_host_pool(self) -> None:
        """memory_pool_host.py:158: every rank judges alone, by what the whole node has free at that moment."""
        tokens = self.service.host_tokens
        if tokens <= self.service.device_tokens:
            raise self._pool_error("AssertionError", _SMALL_POOL, "assert (")
        size = tokens * self.service.model.cell_bytes
        room = self.service.host.available_bytes() - _RESERVE_BYTES
        if size > room:
            raise self._pool_error("ValueError", _large_pool(size, room), "raise ValueError(")
        self.log.line(f"Allocating {size / 1e9:.2f} GB host memory for hierarchical KV cache.")
        self.group.barrier()  # all have judged before the first page is pinned
        self._pinned.take(size)

    def _pool_error(self, kind: str, text: str, code: str) -> EngineError:
        pool = "MLATokenToKVPoolHost" if self.service.model.latent else "MHATokenToKVPoolHost"
        cache: Frame = (
            "srt/mem_cache/hiradix_cache.py",
            "__init__",
            f"self.token_to_kv_pool_host = {pool}(",
        )
        host: Frame = ("srt/mem_cache/memory_pool_host.py", "__init__", code)
        return EngineError(kind, text, (_SCHEDULER, _TREE, cache, host))

    def _use(self, size_mib: int) -> None:
        """Take GPU memory. Raises EngineError where the GPU has no more."""
        total = self._device.total_mib
        if self._used_mib + size_mib > total - self._taken_by_others():
            raise _out_of_memory(self.number, size_mib, total, self._used_mib)
        self._used_mib += size_mib
        self._entry.set(gpu_mib={self._device.minor: self._used_mib})

    def _taken_by_others(self) -> int:
        (free,) = devices.free_bytes(self.service.places, [self._device])
        return self._device.total_mib - free // MIB - self._used_mib

    def _free(self) -> str:
        (free,) = devices.free_bytes(self.service.places, [self._device])
        return gib(free)

    def _pause(self, seconds: float) -> None:
        time.sleep(seconds * self.service.places.pace)


_SMALL_POOL = "The host memory should be larger than the device memory with the current protocol"


def _large_pool(size: int, room: int) -> str:
    return (
        f"Not enough host memory available. Requesting {size / 1e9:.2f} GB but only have {room / 1e9:.2f} GB free. "
        "Please reduce the size of the hierarchical cache."
    )


def _unbalanced(least: int, own: int) -> EngineError:
    """model_runner.py:838."""
    values = f"min_per_gpu_memory={least / GIB}, local_gpu_memory={own / GIB}, "
    text = "The memory capacity is unbalanced. Some GPUs may be occupied by other processes. "
    return EngineError(
        "RuntimeError", f"{text}{values}local_gpu_memory * 0.9={own * 0.9 / GIB}", (_SCHEDULER, _RUNNER)
    )


def _too_small(fraction: float) -> EngineError:
    """model_runner_kv_cache_mixin.py:416."""
    text = "Not enough memory. Please try to increase --mem-fraction-static. "
    value = f"Current value: self.server_args.mem_fraction_static={fraction}"
    return EngineError("RuntimeError", text + value, (_SCHEDULER, _RUNNER))


def _out_of_memory(number: int, size_mib: int, total_mib: int, used_mib: int) -> EngineError:
    return EngineError(
        "torch.OutOfMemoryError",
        f"CUDA out of memory. Tried to allocate {size_mib / 1024:.2f} GiB. GPU {number} has a total capacity of "
        f"{total_mib / 1024:.2f} GiB of which {max(0, total_mib - used_mib) / 1024:.2f} GiB is free.",
        (_SCHEDULER, _RUNNER),
    )


def _progress(what: str, done: int, elapsed: float) -> str:
    """A line of tqdm with SGLang's bar format (model_loader/weight_utils.py)."""
    left = elapsed / done * (_SHARDS - done) if done else 0.0
    rate = f"{elapsed / done:5.2f}s/it" if done else "?it/s"
    bar = f"{done}/{_SHARDS} [00:{elapsed:02.0f}<{'00:' + format(left, '02.0f') if done else '?'}, {rate}]"
    return f"{what}: {done * 100 // _SHARDS:3d}% Completed | {bar}\n"
