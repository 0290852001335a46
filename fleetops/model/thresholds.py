"""Where checks draw their lines: numbers with names, by GPU model and group, the user's own before the shipped ones."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """One of the shipped ones.

    Attributes:
        unit: `%`, `C`, `s`, `bytes`, `count`, `per-min`.
        source: where the number is from.
        gpu_models: a word of a GPU's name -> the value for such GPUs.
    """

    name: str
    value: float
    unit: str
    meaning: str
    source: str
    gpu_models: Mapping[str, float] = field(default_factory=dict)

    def of(self, gpu_model: str) -> float:
        """The value for GPUs of that name."""
        return next((value for word, value in self.gpu_models.items() if word in gpu_model), self.value)


Numbers = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class ThresholdRules:
    """What an inventory says over the shipped ones: name -> value, for all hosts, by a word of the GPUs' name, by group.

    The narrower says over the wider: a group's over a GPU model's, that over `all`; of two groups the later one.
    """

    all: Numbers = field(default_factory=dict)
    gpu_models: Mapping[str, Numbers] = field(default_factory=dict)
    groups: Mapping[str, Numbers] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """Those that hold for one host."""

    values: Mapping[str, float] = field(default_factory=dict)

    def __getitem__(self, name: str) -> float:
        """The number under that name. Raises KeyError for one that nobody ships: a check's own mistake."""
        return self.values[name]
