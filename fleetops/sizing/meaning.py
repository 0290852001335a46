"""From a proof to a flag's meaning for one model: unit, scope, whole pools at once, and the pools on top."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from fleetops.model.proof import ALWAYS, Explanation
from fleetops.model.sizing import Meaning, Seen
from fleetops.sizing.beside import beside_of
from fleetops.sizing.kv import model_layers
from fleetops.sizing.shape import Shape

# Taken as shared memory on 0.26.0 with a hybrid model; and about as much more of offloaded weights.
_SEEN = {
    ("vllm", "kv_offloading_size"): Seen(times=Fraction(192, 100), source="vllm issue 53042"),
    ("vllm", "cpu_offload_gb"): Seen(times=Fraction(19, 10), source="vllm issue 56410"),
}

# The SGLang flags that size the host pool which indexers and drafts follow.
_HOST_POOL_FLAGS = {"hicache_size", "hicache_ratio"}


def meaning_of(
    explanation: Explanation,
    *,
    model_config: Mapping[str, Any] | None,
    shape: Shape | None = None,
    draft_config: Mapping[str, Any] | None = None,
) -> Meaning:
    """What the flag's number means on a node that runs this source with this model.

    Args:
        explanation: what the source shows. Where that proves nothing, the meaning has no unit and no scope.
        model_config: the model's config.json; None where it is not known: then the worst case counts.
        shape: how the launch stores the cache; without it what is not known of that counts at its worst.
        draft_config: config.json of a draft model of its own.
    """
    if not explanation.is_proven:
        return Meaning(
            unit=None, scope=None, why=explanation.unproven_because or "the source has no such flag"
        )
    stored = replace(shape or Shape(), engine=explanation.engine, version=explanation.version)
    pools, why = _pools(explanation, model_config, stored)
    follows = explanation.flag in _HOST_POOL_FLAGS and model_config is not None
    return Meaning(
        unit=None if explanation.unit == "unknown" else explanation.unit,
        scope=None if explanation.scope == "unknown" else explanation.scope,
        pools=pools,
        proven=True,
        why=f"proven: {_decisive(explanation)}" + (f"; {why}" if why else ""),
        beside=beside_of(model_config, stored, draft=draft_config) if follows and model_config else (),
        seen=_SEEN.get((explanation.engine, explanation.flag)),
    )


def _decisive(explanation: Explanation) -> str:
    """Where the number becomes bytes."""
    places = [f"{pool.file}:{pool.line}" for pool in explanation.pools]
    places += [f"{place.file}:{place.line}" for place in explanation.proof if place.role == "arithmetic"]
    return places[0] if places else "from source"


def _pools(explanation: Explanation, model_config: Mapping[str, Any] | None, shape: Shape) -> tuple[int, str]:
    """How many whole pools this model takes at once, and why not simply one."""
    worst = explanation.simultaneous or 1
    if worst == 1:
        return 1, ""
    if model_config is None:
        return worst, f"{worst} pools, as the model is not known"
    try:
        layers = model_layers(model_config, shape)
    except ValueError as error:
        return worst, f"{worst} pools at worst: {error}"
    unconditional = sum(pool.share == "whole" and pool.when == ALWAYS for pool in explanation.pools)
    kinds = [name for name, count in (("sliding", layers.sliding), ("recurrent", layers.recurrent)) if count]
    pools = min(worst, max(1, unconditional) + len(kinds))
    return pools, f"its {' and '.join(kinds)} layers take it as well" if kinds and pools > 1 else ""
