"""The shipped thresholds: the YAML files of this folder, each number with its meaning and its source."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from fleetops.model.thresholds import Threshold, Thresholds

_FOLDER = Path(__file__).resolve().parent


@cache
def shipped_thresholds() -> tuple[Threshold, ...]:
    """All of them, by name."""
    found: dict[str, Any] = {}
    for file in sorted(_FOLDER.glob("*.yaml")):
        found.update(yaml.safe_load(file.read_text(encoding="utf-8")))
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


def thresholds_for(gpu_model: str = "") -> Thresholds:
    """What the shipped ones are for a host with such GPUs."""
    return Thresholds(values={one.name: one.of(gpu_model) for one in shipped_thresholds()})
