"""Whether a service still generates: small generations at intervals, of which several have to fail before it counts.

A health endpoint that says 200 proves nothing (facts: vLLM's stays 200 with its worker stopped), one late answer
neither: behind long prompts a single token may take half a minute. So no sample is cut short, and a service hangs only
where none of several was answered for a long time.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from fleetops.model.errors import Unreachable
from fleetops.steps.support.beside import Beside
from fleetops.steps.support.serving import NoGeneration

_LEAST = 3


@dataclass
class Sample:
    """One generation, begun at `begun`."""

    begun: float
    work: Beside[NoGeneration | Unreachable | None]


@dataclass
class Pulse:
    """Samples of one service.

    Attributes:
        generate: one token; raises NoGeneration or Unreachable.
        every_s: how often one is begun.
        hang_s: how long all of them have to be without an answer.
        now: the clock.
    """

    generate: Callable[[], object]
    every_s: float
    hang_s: float
    now: Callable[[], float]
    _samples: list[Sample] = field(default_factory=list)
    _failures: list[str] = field(default_factory=list)
    _last_good: float = float("-inf")
    _next: float = float("-inf")

    def beat(self) -> None:
        """Take in what has come, and begin a sample where one is due."""
        self._collect()
        if self.now() >= self._next:
            self.begin()

    def begin(self) -> float:
        """Begin a sample now; returns when that was."""
        now = self.now()
        self._next = now + self.every_s
        self._samples.append(Sample(now, Beside(self._sample, "pulse")))
        return now

    def has_answered(self, begun: float) -> bool:
        """Whether a sample that was begun then, or later, was answered."""
        self._collect()
        return self._last_good >= begun

    def verdict(self) -> str:
        """Why it does not generate any more; "" while nothing of the kind is shown."""
        self._collect()
        if len(self._failures) >= _LEAST:
            return f"{len(self._failures)} generations in a row came to nothing: {self._failures[-1]}"
        silent = [sample.begun for sample in self._samples]
        if len(silent) >= _LEAST and self.now() - min(silent) >= self.hang_s:
            return f"it hangs: no answer to {len(silent)} generations of one token in {self.hang_s:g} s"
        return ""

    def _collect(self) -> None:
        """Answered samples clear those begun before them; silent ones stay."""
        for sample in [one for one in self._samples if one.work.has_ended]:
            error = sample.work.result()
            if isinstance(error, NoGeneration) and error.silent:
                continue
            self._samples.remove(sample)
            if isinstance(error, Unreachable):
                continue  # whoever reads the log will say so
            if error is None or error.busy:
                self._last_good = max(self._last_good, sample.begun)
                self._failures.clear()
            else:
                self._failures.append(str(error))
        self._samples = [sample for sample in self._samples if sample.begun > self._last_good]

    def _sample(self) -> NoGeneration | Unreachable | None:
        try:
            self.generate()
        except (NoGeneration, Unreachable) as error:
            return error
        return None
