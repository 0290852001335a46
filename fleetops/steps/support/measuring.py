"""Driving a service with a load, and timing what comes back."""

import secrets
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing

from fleetops.engines.support import openai
from fleetops.model.errors import Unreachable
from fleetops.model.load import Attempt, Load, Tally, Trouble, TroubleKind
from fleetops.model.measure import Measurement
from fleetops.ssh.fanout import fan_out
from fleetops.steps.support.asking import Asking, Flight
from fleetops.steps.support.prompts import prompt

REQUEST_S = 120.0
"""How long one request may take."""

# The numbers of the warm-up's prompts; the load's are 0 and up.
_WARM_UPS = (-1, -2)
_GONE = {TroubleKind.REFUSED, TroubleKind.UNREACHABLE}


class Measuring:
    """One measurement: `run` it once. `tally` and `stop` may be called from other threads meanwhile.

    Args:
        seed: the prompts' seed; None for one that was never used, so that no cache knows the prompts.
        request_s: how long one request may take; `within_s` holds for all together.
    """

    def __init__(
        self,
        service: Asking,
        model: str,
        load: Load,
        *,
        seed: int | None = None,
        request_s: float = REQUEST_S,
        within_s: float = 600.0,
    ) -> None:
        self.load = load
        self.seed = secrets.randbelow(10**9) if seed is None else seed
        self._service = service
        self._model = model
        self._request_s = request_s
        self._within_s = within_s
        self._words = load.prompt_tokens
        self._flights: dict[int, Flight] = {}
        self._ended: dict[int, Attempt] = {}
        self._until = 0.0
        self._over = threading.Event()
        self._why_over = ""

    def run(self, on_end: Callable[[], None] | None = None) -> Measurement:
        """The whole load; `on_end` is called after each request. An interruption gives what was measured so far."""
        cpu_s = time.process_time()
        self._until = time.monotonic() + self._within_s
        interrupted = False
        try:
            if self._warm_up():
                cpu_s = time.process_time()
                self._drive(range(self.load.requests), self.load.output_tokens, on_end)
        except KeyboardInterrupt:
            interrupted = True
        self._over.set()
        return Measurement(
            load=self.load,
            attempts=self._attempts(interrupted=interrupted),
            warm_ups=tuple(self._ended[number] for number in _WARM_UPS if number in self._ended),
            seed=self.seed,
            interrupted=interrupted,
            cpu_s=time.process_time() - cpu_s,
        )

    def stop(self, why: str) -> None:
        """Begin nothing more."""
        self._why_over = self._why_over or why
        self._over.set()

    def tally(self) -> Tally:
        """How far it is."""
        flights = {number: flight for number, flight in list(self._flights.items()) if number >= 0}
        ended = [self._ended[number] for number in flights if number in self._ended]
        whole = [attempt for attempt in ended if attempt.usage and attempt.events]
        events = sum(len(attempt.events) for attempt in whole)
        per_event = sum(attempt.usage.output_tokens for attempt in whole if attempt.usage) / (events or 1)
        return Tally(
            load=self.load,
            at=time.monotonic(),
            begun=len(flights),
            answered=sum(attempt.is_whole for attempt in ended),
            failed=sum(attempt.trouble is not None for attempt in ended),
            tokens=sum(len(flight.events) for flight in flights.values()) * (per_event or 1.0),
        )

    def _warm_up(self) -> bool:
        """A request by itself: what compiles on first use is compiled, and how many tokens a word has is known.

        One failure may be chance, so it is tried twice; a service that gives no sign of life is not.
        """
        for number in _WARM_UPS:
            self._drive([number], 1, None)
            attempt = self._ended.get(number)
            if attempt and attempt.usage:
                found = max(attempt.usage.prompt_tokens, 1)
                self._words = max(1, round(self._words * self.load.prompt_tokens / found))
                return True
            if attempt is None or (attempt.trouble and attempt.trouble.kind is TroubleKind.DEADLINE):
                break
        self.stop("the first request failed")
        return False

    def _drive(self, numbers: Sequence[int], tokens: int, on_end: Callable[[], None] | None) -> None:
        """These requests, `concurrency` at a time; one that is still under way at the end goes to its own deadline."""
        left_s = max(self._until - time.monotonic(), 0.0)
        width = self.load.concurrency
        with closing(
            fan_out(numbers, lambda number: self._request(number, tokens), width=width, deadline_s=left_s)
        ) as coming:
            for _ in coming:
                if on_end:
                    on_end()

    def _request(self, number: int, tokens: int) -> None:
        """One request from beginning to end; whatever goes wrong with it is part of what came of it."""
        if self._over.is_set():
            return
        flight = self._flights[number] = Flight()
        body = openai.completion(self._model, prompt(self.seed, number, self._words), tokens)
        left_s = max(min(self._request_s, self._until - time.monotonic()), 0.001)
        usage, trouble = None, None
        try:
            usage = self._service.complete(body, flight, deadline_s=left_s)
        except (OSError, ValueError, Unreachable) as error:
            trouble = self._service.trouble(error)
        self._ended[number] = Attempt(
            asked_at=flight.asked_at,
            ended_at=time.monotonic(),
            way_s=flight.asked_at - flight.begun_at,
            events=tuple(flight.events),
            usage=usage,
            trouble=trouble,
        )
        if trouble and trouble.kind in _GONE:
            self.stop(f"the service is gone: {trouble.message}")

    def _attempts(self, *, interrupted: bool) -> tuple[Attempt, ...]:
        """One for each request, but for those that an interruption kept from being begun."""
        now = time.monotonic()
        found = []
        for number in range(self.load.requests):
            flight, ended = self._flights.get(number), self._ended.get(number)
            if ended:
                found.append(ended)
            elif flight:
                found.append(_left_under_way(flight, now, interrupted=interrupted))
            elif not interrupted:
                why = self._why_over or "the time for all was up"
                trouble = Trouble(TroubleKind.NOT_BEGUN, why)
                found.append(Attempt(asked_at=now, ended_at=now, trouble=trouble))
        return tuple(found)


def _left_under_way(flight: Flight, now: float, *, interrupted: bool) -> Attempt:
    trouble = None if interrupted else Trouble(TroubleKind.DEADLINE, "no whole answer when the time was up")
    return Attempt(asked_at=flight.asked_at, ended_at=now, events=tuple(flight.events), trouble=trouble)
