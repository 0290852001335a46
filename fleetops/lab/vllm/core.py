"""The engine core: starts the workers, runs the loop, hands out tokens (v1/engine/core.py).

With one rank there is no worker: it holds the GPU itself. It goes on when the API server is gone: a server that was
killed leaves it behind, under PID 1 and with the dead server's process group.
"""

import os
import signal
import threading
import time
from typing import Any, NoReturn

from fleetops.lab.engine import kernel
from fleetops.lab.engine.channel import Channel, Message, pair
from fleetops.lab.engine.errors import EngineError
from fleetops.lab.engine.scheduling import DIES, HANGS, Pace, Running
from fleetops.lab.engine.segments import Segments, python_name
from fleetops.lab.engine.vocabulary import text_of
from fleetops.lab.vllm import worker
from fleetops.lab.vllm.log import Log
from fleetops.lab.vllm.service import VERSION, Service
from fleetops.lab.vllm.worker import Holding

# How often all workers have to take part while decoding; each step would only cost a laptop's CPU.
_STEPS_PER_PASS = 8
_QUEUE_MIB = 4
_LOOK_S = 0.5
_EXECUTOR_FAILED = 'EngineCore encountered a fatal error.\nTraceback (most recent call last):\n    raise RuntimeError("Executor failed.")\nRuntimeError: Executor failed.'


class WorkerDied(Exception):  # noqa: N818 (it is what happened, not an error of this program)
    """A worker's end of its channel is closed."""


class Core:
    """The process `VLLM::EngineCore`."""

    def __init__(self, service: Service, requests: Channel, texts: Channel, ready: Channel) -> None:
        self._service = service
        self._requests = requests
        self._texts = texts
        self._ready = ready
        self._log = Log("EngineCore")
        self._workers: list[Channel] = []
        self._pids: list[int] = []
        self._segments = Segments(service.places.shm)
        self._own = Holding(service, 0, self._log) if service.ranks == 1 else None
        self._running: list[Running] = []
        self._steps = 0

    def run(self) -> NoReturn:
        """Start, say that it is ready, and serve."""
        kernel.set_title("VLLM::EngineCore")
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, lambda *_: self._leave(0))
        try:
            self._start()
        except EngineError as error:
            self._log.fails("core.py:1510", f"EngineCore failed to start.\n{error.kind}: {error.text}")
            self._leave(1)
        self._ready.send({"tokens": self._service.cache_tokens})
        try:
            self._serve()
        except WorkerDied:
            self._log.fails("core.py:1512", _EXECUTOR_FAILED)
            self._texts.send({"dead": True})
        except EngineError as error:
            self._log.fails(
                "core.py:1512", f"EngineCore encountered a fatal error.\n{error.kind}: {error.text}"
            )
            self._texts.send({"dead": True})
        except EOFError:  # the API server is gone, and nobody has told this process to end
            while True:
                signal.pause()
        self._leave(1)

    def _start(self) -> None:
        service, log = self._service, self._log
        model, begun = service.args["model"], time.perf_counter()
        log.line(
            "core.py:133",
            f"Initializing a V1 LLM engine (v{VERSION}) with config: model='{model}', "
            f"tensor_parallel_size={service.ranks}, data_parallel_size=1",
        )
        self._segments.make(python_name(), _QUEUE_MIB)
        if self._own:
            self._own.load("VLLM::EngineCore")
            self._own.capture()
        else:
            self._start_workers()
        tokens = service.cache_tokens
        log.line(
            "kv_cache_utils.py:2327",
            f"GPU KV cache size: {tokens:,} tokens, Maximum concurrency for {service.context_tokens:,} tokens per "
            f"request: {tokens / service.context_tokens:.2f}x",
        )
        elapsed = time.perf_counter() - begun
        log.line("core.py:402", f"init engine (profile, create kv cache, warmup model) took {elapsed:.2f} s")

    def _start_workers(self) -> None:
        for number in range(self._service.ranks):
            ours, theirs = pair()
            pid = os.fork()
            if pid == 0:
                for each in (*self._workers, ours, self._requests, self._texts, self._ready):
                    each.close()
                worker.run(self._service, number, theirs)
            theirs.close()
            self._workers.append(ours)
            self._pids.append(pid)
        for number, each in enumerate(self._workers):
            try:
                message = each.receive() or {}
            except EOFError:
                self._note_death(number)
                raise EngineError("RuntimeError", "Worker died during initialization") from None
            if "failed" in message:
                raise EngineError(
                    "Exception",
                    "WorkerProc initialization failed due to an exception in a background process. See stack trace for root cause.",
                )

    def _note_death(self, number: int) -> None:
        self._log.fails(
            "multiproc_executor.py:315",
            f"Worker proc VllmWorker-{number} died unexpectedly (exit code: None), shutting down executor.",
        )

    def _serve(self) -> None:
        """Raises EOFError where the API server is gone, WorkerDied, and EngineError where a fault strikes."""
        pace = Pace()
        while True:
            idle = not self._running
            self._must_live()
            message = self._requests.receive(_LOOK_S if idle else max(pace.left_s(), 0.0001))
            if message:
                self._take(message)
                if idle:
                    pace = Pace()
            if self._running and pace.left_s() == 0:
                pace.next(len(self._running))
                self._decode()

    def _must_live(self) -> None:
        """Its workers, as the executor's monitor does (a worker that is stopped lives)."""
        for number, pid in enumerate(self._pids):
            if os.waitpid(pid, os.WNOHANG)[0]:
                self._pids.remove(pid)
                self._note_death(number)
                raise WorkerDied

    def _take(self, message: Message) -> None:
        if "fault" in message:
            self._fall(message["fault"])
        elif "abort" in message:
            self._running = [each for each in self._running if each.rid != message["abort"]]
        else:
            running = Running.of(message, self._service.context_tokens)
            self._forward()
            self._running.append(running)

    def _fall(self, fault: str) -> None:
        if fault == HANGS:
            threading.Event().wait()
        if fault == DIES:
            raise EngineError("torch.OutOfMemoryError", "CUDA out of memory. Tried to allocate 2.00 GiB.")

    def _forward(self) -> None:
        """Every worker does its part: one that is stopped makes all wait."""
        for each in self._workers:
            each.send({"forward": True})
        for number, each in enumerate(self._workers):
            try:
                each.receive()
            except EOFError:
                self._note_death(number)
                raise WorkerDied from None

    def _decode(self) -> None:
        self._steps += 1
        if self._steps % _STEPS_PER_PASS == 0:
            self._forward()
        out: list[list[Any]] = []
        for each in self._running:
            token, finish = each.step()
            out.append([each.rid, text_of(token), finish, each.prompt_tokens])
        self._texts.send({"out": out})
        ended = {rid for rid, _, finish, _ in out if finish}
        self._running = [each for each in self._running if each.rid not in ended]

    def _leave(self, status: int) -> NoReturn:
        """Closing the channels is what ends the workers."""
        for each in self._workers:
            each.close()
        for pid in self._pids:
            _end(pid)
        if self._own:
            self._own.give_back()
        self._segments.unlink()
        os._exit(status)


def _end(pid: int) -> None:
    """SIGTERM, and SIGKILL where that does not do (a worker that is stopped)."""
    os.kill(pid, signal.SIGTERM)
    until = time.monotonic() + 2.0
    while time.monotonic() < until:
        if os.waitpid(pid, os.WNOHANG)[0]:
            return
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
