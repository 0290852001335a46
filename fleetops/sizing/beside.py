"""Host pools of a model and release that come on top of the size that was asked for: indexers and drafts."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from fleetops.model.kv import Beside
from fleetops.sizing.kv import (
    INDEXER_APART_FROM,
    indexer_bytes,
    kv_cache,
    latent_width,
    packed_drafts,
    text_model,
)
from fleetops.sizing.releases import is_at_least
from fleetops.sizing.shape import Shape

# From this release on a draft's cache has a host pool with as many tokens as the target's (kv_cache_builder.py:
# maybe_register_hicache_draft; in 0.5.11 managers/scheduler.py).
DRAFTS_FROM = "0.5.11"
_WITHOUT_DRAFT_MODEL = {"", "NONE", "NGRAM"}


def beside_of(
    config: Mapping[str, Any], shape: Shape, *, draft: Mapping[str, Any] | None = None
) -> tuple[Beside, ...]:
    """The pools on top of SGLang's host pool for this model, each as a share of it.

    Args:
        config: the model's config.json.
        shape: how the launch spreads and stores it.
        draft: the config.json of a draft model of its own, where one is named and known.
    """
    if shape.engine != "sglang":
        return ()
    found = (_indexer(config, shape), _draft(config, shape, draft))
    return tuple(pool for pool in found if pool)


def _indexer(config: Mapping[str, Any], shape: Shape) -> Beside | None:
    """The DSA indexer's, as many tokens as the KV pool. Where the store's type is not settled, the larger share counts.

    mem_cache/memory_pool_host.py:NSAIndexerPoolHost (0.5.11), pool_host/dsa.py:DSAIndexerPoolHost (0.5.23).
    """
    model = text_model(config)
    index = indexer_bytes(model)
    if not index or not is_at_least(shape.version, INDEXER_APART_FROM):
        return None
    label = "DSA indexer, a pool of its own"
    try:
        latent = Fraction(latent_width(model))
    except ValueError:
        return Beside(label=label, share=None)
    if shape.kv_dtype in {"bf16", "bfloat16"}:
        latent *= 2
    return Beside(label=label, share=index / latent)


def _draft(config: Mapping[str, Any], shape: Shape, draft: Mapping[str, Any] | None) -> Beside | None:
    if shape.speculative in _WITHOUT_DRAFT_MODEL or not is_at_least(shape.version, DRAFTS_FROM):
        return None
    label = f"draft ({shape.speculative}), as many tokens"
    if not shape.draft:
        if packed_drafts(text_model(config), shape):
            return None
        return Beside(label=label, share=_share(config, config, shape, layers=1))
    return Beside(label=label, share=None if draft is None else _share(config, draft, shape))


def _share(
    config: Mapping[str, Any], draft: Mapping[str, Any], shape: Shape, *, layers: int | None = None
) -> Fraction | None:
    """A draft's bytes for a token over its target's; `layers` of the draft's where it has not all of them."""
    try:
        target = kv_cache(config, shape)
        alone = kv_cache(draft, replace(shape, speculative="", pipeline=1))
    except ValueError:
        return None
    taken = Fraction(alone.bytes_per_token, alone.layers) * layers if layers else alone.bytes_per_token
    return Fraction(taken, target.bytes_per_token)
