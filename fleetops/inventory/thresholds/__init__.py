"""The shipped thresholds: the YAML files of this folder, each number with its meaning and its source."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from fleetops.model.thresholds import Threshold, ThresholdRules, Thresholds

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_FOLDER = Path(__file__).resolve().parent


@cache
def shipped_thresholds() -> tuple[Threshold, ...]:
    """All of them, by name."""
    found: dict[str, Any] = {}
    for file in sorted(_FOLDER.glob("*.yaml")):
        found.update(yaml.load(file.read_text(encoding="utf-8"), _LOADER))  # noqa: S506 - safe, and faster
    return tuple(
        Threshold(
            name=name,
            value=float(one["value"]),
            unit=one["unit"],
            meaning=one["meaning"],
            source=one["source"],
            gpu_models={word: float(value) for word, value in one.get("gpu-models", {}).items()},
        )
        for name, one in sorted(found.items())
    )


def thresholds_for(
    gpu_model: str = "", rules: ThresholdRules | None = None, groups: Iterable[str] = ()
) -> Thresholds:
    """Those that hold for a host with such GPUs, in these groups: the inventory's before the shipped ones."""
    values = {one.name: one.of(gpu_model) for one in shipped_thresholds()}
    if rules:
        values |= rules.all
        for word, numbers in rules.gpu_models.items():
            values |= numbers if word in gpu_model else {}
        member = set(groups)
        for group, numbers in rules.groups.items():
            values |= numbers if group in member else {}
    return Thresholds(values=values)
