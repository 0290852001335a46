"""One launch against one node, put together: meanings, budget, KV cache, the engine's own check. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fleetops.model.fleet import AUTO, Flag
from fleetops.model.kv import HostPool, KvCache
from fleetops.model.size import EngineWindow, Sizing
from fleetops.model.sizing import Budget, FlagSize, Meaning, stated
from fleetops.sizing.budget import budget
from fleetops.sizing.doubts import contradicted, doubts_of, notes_of
from fleetops.sizing.kv import indexer_bytes, kv_cache, text_model
from fleetops.sizing.meaning import meaning_of
from fleetops.sizing.pools import block_pool, host_pool_by_ratio, pool_of
from fleetops.sizing.question import Question, has_other_layers
from fleetops.sizing.shape import Shape, shape_of, values_of
from fleetops.sizing.window import LEFT_ALONE_BYTES, window_of

# The flags whose bytes hold tokens of the model's own cache.
_TOKEN_FLAGS = {"hicache_size", "hicache_ratio", "kv_offloading_size"}
_SPARSE_PAGE, _VLLM_BLOCK = 64, 16


def answer(question: Question) -> Sizing:
    """The whole answer. Never raises: what cannot be counted is a doubt or a note."""
    shape = _shape(question)
    kv, uncounted = _counted(question, shape)
    meanings = _meanings(question, shape, kv)
    found = _budget(question, meanings)
    size = next((size for size in found.sizes if size.name == question.flag), None)
    holds_tokens = question.flag in _TOKEN_FLAGS
    return Sizing(
        host=question.host,
        engine=question.profile.engine,
        title=question.title,
        version=question.version,
        profile=question.profile.name,
        flag=question.flag,
        asked=size.value if size and size.asked != AUTO else None,
        budget=found,
        explanation=question.explanation,
        window=_window(question, kv),
        kv=kv if holds_tokens else None,
        pool=_pool(size, kv, shape, question) if size and kv and holds_tokens else None,
        fitting=_fitting(size, kv, shape, question) if size and kv and holds_tokens else None,
        notes=(
            *found.cautions,
            *notes_of(question, shape),
            *((uncounted,) if uncounted and holds_tokens else ()),
        ),
        doubts=doubts_of(question, shape, kv, meanings),
        contradicted=tuple(flag.name for flag in contradicted(question)),
    )


def budget_of(question: Question) -> Budget:
    """The arithmetic alone."""
    shape = _shape(question)
    kv, _ = _counted(question, shape)
    return _budget(question, _meanings(question, shape, kv))


def _shape(question: Question) -> Shape:
    return shape_of(
        values_of(question.profile.flags),
        engine=question.profile.engine,
        version=question.version,
        ranks=question.ranks,
        tensor=question.tensor,
    )


def _meanings(question: Question, shape: Shape, kv: KvCache | None) -> dict[str, Meaning]:
    return {flag.name: _meaning(flag, question, shape, kv) for flag in question.flags}


def _budget(question: Question, meanings: Mapping[str, Meaning]) -> Budget:
    return budget(
        question.profile, question.rooms, flags=question.flags, meanings=meanings, ranks=question.ranks
    )


def _window(question: Question, kv: KvCache | None) -> EngineWindow | None:
    if question.explanation is None:
        return None
    return window_of(
        question.explanation,
        ranks=question.ranks,
        available_bytes=question.available_bytes,
        kv=kv,
        device_tokens=question.device_tokens,
    )


def _counted(question: Question, shape: Shape) -> tuple[KvCache | None, str]:
    """The KV cache of the model, with the page's doubt, or why it cannot be counted."""
    if question.config is None:
        return None, ""
    try:
        kv = kv_cache(question.config, shape)
    except ValueError as error:
        return None, str(error)
    if shape.page is not None:
        return kv, ""
    page = _page(question.config, shape)
    why = f"the page size is not stated: counted with {page}, exact to a page"
    return replace(kv, inexact=(*kv.inexact, why)), ""


def _page(config: Mapping[str, Any] | None, shape: Shape) -> int:
    """The page that the flags say, else what the engine takes without one, as far as no kernel asks for another."""
    if shape.page is not None:
        return shape.page
    if shape.engine != "sglang":
        return _VLLM_BLOCK
    return _SPARSE_PAGE if config is not None and indexer_bytes(text_model(config)) else 1


def _meaning(flag: Flag, question: Question, shape: Shape, kv: KvCache | None) -> Meaning:
    """As proven; what is not proven counts as the profile states it, and stays a doubt."""
    explanation = question.explanations.get(flag.name)
    if explanation is None or not explanation.is_proven:
        return stated(flag)
    meaning = meaning_of(
        explanation, model_config=question.config, shape=shape, draft_config=question.draft_config
    )
    if flag.name in question.overruled:
        meaning = _as_stated(flag, meaning)
    return replace(meaning, unit_bytes=_unit_bytes(meaning, flag, question, shape, kv))


def _as_stated(flag: Flag, proven: Meaning) -> Meaning:
    """The profile's words over what is proven; what it leaves out stays as proven."""
    return replace(
        proven,
        unit=flag.unit or proven.unit,
        scope=flag.scope or proven.scope,
        proven=False,
        why="as the profile states; that the source says otherwise is waived",
    )


def _unit_bytes(
    meaning: Meaning, flag: Flag, question: Question, shape: Shape, kv: KvCache | None
) -> int | None:
    """What one unit of another kind than bytes comes to, where the numbers for it are known."""
    if meaning.unit == "fraction" and flag.name.startswith("hicache") and question.available_bytes:
        return max(0, question.available_bytes - LEFT_ALONE_BYTES) if meaning.scope != "per-rank" else None
    if kv is None:
        return None
    if meaning.unit == "ratio" and flag.name.startswith("hicache"):
        plain = question.config is None or not has_other_layers(question.config, shape)
        return question.device_tokens * kv.bytes_per_token if question.device_tokens and plain else None
    if meaning.unit == "tokens":
        return kv.bytes_per_token
    return kv.bytes_per_token * _page(question.config, shape) if meaning.unit == "blocks" else None


def _pool(size: FlagSize, kv: KvCache, shape: Shape, question: Question) -> HostPool | None:
    """One rank's pool for what is asked, or for what fits where nothing is."""
    value = size.value if size.value is not None else size.fits
    per_unit, page = size.meaning.bytes_per_unit, _page(question.config, shape)
    if not value or per_unit is None or not size.meaning.scope:
        return None
    if size.meaning.unit == "ratio":
        tokens = question.device_tokens or 0
        return host_pool_by_ratio(value, tokens, kv.bytes_per_token, page=page, version=shape.version)
    if shape.engine == "vllm":
        return block_pool(value * per_unit, kv.bytes_per_token, block=page, ranks=question.ranks)
    shared = question.ranks if size.meaning.scope != "per-rank" else 1
    return pool_of(value * per_unit / shared, kv.bytes_per_token, page=page, version=shape.version)


def _fitting(size: FlagSize, kv: KvCache, shape: Shape, question: Question) -> HostPool | None:
    """The same for what would fit, where another value is asked."""
    if not size.fits or size.value in {None, size.fits}:
        return None
    return _pool(replace(size, value=size.fits), kv, shape, question)
