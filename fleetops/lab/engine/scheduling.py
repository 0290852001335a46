"""Rank 0's event loop: requests come in, every rank takes part in every pass, tokens go to the detokenizer.

The rate: a decode step takes 8.6 ms (about 116 tokens a second for one stream) until the batch as a whole reaches
915 tokens a second, which 8 concurrent streams do; a client that measures 8 short ones sees about 900. More
streams share the same 915.
"""

import random
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from fleetops.lab.engine.channel import Channel, Message
from fleetops.lab.engine.errors import EngineError, Frame
from fleetops.lab.engine.log import Log, gib
from fleetops.lab.engine.service import GRAPHS_MIB, Service
from fleetops.lab.engine.vocabulary import SIZE
from fleetops.lab.engine.wiring import Group

STEP_S = 0.0086
TOTAL_PER_S = 915.0
# How often all ranks have to take part while decoding; each step would only cost a laptop's CPU.
_STEPS_PER_PASS = 8
_LATE_S = 0.25
_SCHEDULER: Frame = ("srt/managers/scheduler.py", "run_scheduler_process", "scheduler.event_loop_overlap()")
_RUNNER: Frame = ("srt/model_executor/model_runner.py", "forward_decode", "return self.model.forward(")
DIES, HANGS = FAULTS = ("dies-after-ready", "hangs-after-ready")
"""What may go wrong with rank 0 once it serves: it runs out of GPU memory, or waits for ever."""


@dataclass
class Running:
    """One request that is being decoded."""

    rid: str
    prompt_tokens: int
    limit: int
    natural_end: int
    words: random.Random
    health: bool
    done: int = 0

    @classmethod
    def of(cls, message: Message, context_tokens: int) -> "Running":
        """As the HTTP thread sent it, within the model's context."""
        words = random.Random(message["seed"])  # noqa: S311 (it only has to look like text)
        end = 10**9 if message["ignore_eos"] else 400 + words.randrange(200)
        room = context_tokens - message["prompt_tokens"]
        limit = max(1, min(message["limit"] or room, room))
        rid: str = message["rid"]
        return cls(rid, message["prompt_tokens"], limit, end, words, health=rid.startswith("HEALTH"))

    def step(self) -> tuple[int, Message | None]:
        """The next token, and why it was the last one if it was."""
        self.done += 1
        token = self.words.randrange(SIZE)
        if self.done >= self.limit:
            return token, {"type": "length", "length": self.limit}
        if self.done >= self.natural_end:
            return token, {"type": "stop", "matched": SIZE}
        return token, None


@dataclass
class Pace:
    """When the next step is due, whatever the machine was busy with meanwhile."""

    due: float = field(default_factory=time.monotonic)

    def left_s(self) -> float:
        """Seconds until the next step."""
        return max(0.0, self.due - time.monotonic())

    def next(self, streams: int) -> None:
        """Plan the step after this one."""
        self.due = max(self.due, time.monotonic() - _LATE_S) + max(STEP_S, streams / TOTAL_PER_S)


class Scheduler:
    """What rank 0 does once it is ready."""

    def __init__(self, service: Service, log: Log, group: Group) -> None:
        self._service = service
        self._log = log
        self._group = group
        self._running: list[Running] = []
        self._waiting: list[Running] = []
        self._steps = 0
        self._since_log = (time.monotonic(), 0)
        self._throughput = 0.0

    def serve(self, requests: Channel, tokens: Channel) -> None:
        """Serve until the launcher is gone. Raises EOFError then, and EngineError where a fault strikes."""
        pace = Pace()
        while True:
            idle = not self._running
            message = requests.receive(None if idle else max(pace.left_s(), 0.0001))
            if message:
                self._take(message, tokens)
                if idle:
                    pace = Pace()
            if self._waiting:
                self._prefill()
            if self._running and pace.left_s() == 0:
                pace.next(len(self._running))
                self._decode(tokens)

    def _take(self, message: Message, tokens: Channel) -> None:
        if "fault" in message:
            self._fall(message["fault"])
        elif "state" in message:
            tokens.send({"state": message["state"], "value": self._state()})
        elif "abort" in message:
            self._running = [each for each in self._running if each.rid != message["abort"]]
        else:
            self._waiting.append(Running.of(message, self._service.context_tokens))

    def _fall(self, fault: str) -> None:
        if fault == HANGS:
            threading.Event().wait()
        raise EngineError(
            "torch.OutOfMemoryError",
            "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of "
            f"{self._service.devices[0].total_mib / 1024:.2f} GiB of which 0.61 GiB is free.",
            (_SCHEDULER, _RUNNER),
        )

    def _prefill(self) -> None:
        self._group.forward()
        fresh, self._waiting = self._waiting, []
        shown = [each for each in fresh if not each.health]
        if shown:
            total = sum(each.prompt_tokens for each in shown)
            self._log.line(
                f"Prefill batch, #new-seq: {len(shown)}, #new-token: {total}, #cached-token: 0, "
                f"token usage: {self._usage():.2f}, #running-req: {len(self._running)}, #queue-req: 0, "
                f"input throughput (token/s): {total / 0.05:.2f}, cuda graph: False"
            )
        self._running += fresh

    def _decode(self, tokens: Channel) -> None:
        self._steps += 1
        if self._steps % _STEPS_PER_PASS == 0:
            self._group.forward()
        out: list[list[Any]] = []
        for each in self._running:
            token, finish = each.step()
            out.append([each.rid, token, finish, each.prompt_tokens])
        tokens.send({"out": out})
        self._note(len(out))
        ended = {rid for rid, _, finish, _ in out if finish}
        self._running = [each for each in self._running if each.rid not in ended]

    def _note(self, produced: int) -> None:
        begun, count = self._since_log
        self._since_log = (begun, count + produced)
        if self._steps % self._service.args["decode_log_interval"]:
            return
        now = time.monotonic()
        self._throughput = (count + produced) / max(now - begun, 0.001)
        self._since_log = (now, 0)
        used = sum(each.prompt_tokens + each.done for each in self._running)
        self._log.line(
            f"Decode batch, #running-req: {len(self._running)}, #token: {used}, "
            f"token usage: {self._usage():.2f}, cuda graph: True, "
            f"gen throughput (token/s): {self._throughput:.2f}, #queue-req: {len(self._waiting)}"
        )

    def _usage(self) -> float:
        used = sum(each.prompt_tokens + each.done for each in self._running)
        return used / self._service.device_tokens

    def _state(self) -> Message:
        """The internal state of GET /server_info (scheduler.py:2650)."""
        service = self._service
        cache = service.device_tokens * service.model.cell_bytes
        memory = {
            "weight": _gb(service.model.weight_bytes),
            "kvcache": _gb(cache),
            "token_capacity": service.device_tokens,
            "graph": _gb(GRAPHS_MIB * 2**20),
        }
        return {
            **service.args,
            "last_gen_throughput": self._throughput,
            "memory_usage": memory,
            "effective_max_running_requests_per_dp": service.max_running,
        }


def _gb(size_bytes: int) -> float:
    return float(gib(size_bytes).split()[0])
