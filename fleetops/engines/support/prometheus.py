"""The Prometheus text form, as far as a capacity needs it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_SAMPLE = re.compile(r"^([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?\s*$")
_LABEL = re.compile(r'\s*([A-Za-z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*,?')
_ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}
_ESCAPE = re.compile(r"\\[\\\"n]")


@dataclass(frozen=True)
class Sample:
    """One measured value with its labels."""

    name: str
    value: float
    labels: dict[str, str] = field(default_factory=dict)

    @property
    def count(self) -> int | None:
        """The value as a number of things; None for NaN, Inf and what is below nothing."""
        return round(self.value) if 0 <= self.value < float("inf") else None


def samples(text: str) -> Iterator[Sample]:
    """Every sample of an exposition; comments, empty lines and lines of another form are passed over."""
    for line in text.splitlines():
        found = _SAMPLE.match(line.strip())
        if not found:
            continue
        try:
            value = float(found[3])
        except ValueError:
            continue
        yield Sample(found[1], value, dict(_labels(found[2] or "")))


def _labels(text: str) -> Iterator[tuple[str, str]]:
    for name, value in _LABEL.findall(text):
        yield name, _ESCAPE.sub(lambda found: _ESCAPES[found[0]], value)
