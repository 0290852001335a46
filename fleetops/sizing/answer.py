"""One launch against one node, put together: meanings, budget, KV cache, the engine's own check. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fleetops.model.fleet import AUTO, Flag, Profile
from fleetops.model.kv import HostPool, KvCache
from fleetops.model.proof import Explanation
from fleetops.model.size import EngineWindow, Sizing
from fleetops.model.sizing import FlagSize, Meaning, stated
from fleetops.sizing.budget import Rooms, budget
from fleetops.sizing.kv import indexer_bytes, kv_cache, model_layers, text_model
from fleetops.sizing.meaning import meaning_of
from fleetops.sizing.pools import block_pool, host_pool_by_ratio, pool_of
from fleetops.sizing.releases import is_at_least
from fleetops.sizing.shape import Shape, shape_of, values_of
from fleetops.sizing.window import LEFT_ALONE_BYTES, window_of

# The flags whose bytes hold tokens of the model's own cache.
_TOKEN_FLAGS = {"hicache_size", "hicache_ratio", "kv_offloading_size"}
_SPARSE_PAGE, _VLLM_BLOCK = 64, 16
_LMCACHE_IGNORES_FROM = "0.27.1"


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is to be sized, and all that is known of it.

    Attributes:
        profile: what would be launched; its name is "" where there is none.
        flags: those of its flags that take host memory, and the one in question.
        flag: the one in question; None where no flag takes any.
        explanations: flag name -> what the source shows.
        config, draft_config: config.json of the model, and of a draft model of its own.
        rooms: what bounds the launch.
        available_bytes: the node's own MemAvailable, which the engine's check looks at.
        ranks: on this node.
        tensor: the tensor-parallel size where no flag says it; None: the ranks of this node are all there are.
        device_tokens: of the GPU pool of one rank, as measured; None where it is not known.
        host, title: of the node and of the engine, as they are shown.
        release: of the engine, where no explanation says it.
    """

    profile: Profile
    flags: tuple[Flag, ...]
    flag: str | None
    explanations: Mapping[str, Explanation]
    rooms: Rooms
    ranks: int
    tensor: int | None = None
    config: Mapping[str, Any] | None = None
    draft_config: Mapping[str, Any] | None = None
    available_bytes: int | None = None
    device_tokens: int | None = None
    host: str = ""
    title: str = ""
    release: str = ""

    @property
    def explanation(self) -> Explanation | None:
        """Of the flag in question."""
        return self.explanations.get(self.flag or "")

    @property
    def version(self) -> str:
        """The engine's release, as any of the explanations has it."""
        return next((one.version for one in self.explanations.values() if one.version), self.release)


def answer(question: Question) -> Sizing:
    """The whole answer. Never raises: what cannot be counted is a doubt or a note."""
    shape = shape_of(
        values_of(question.profile.flags),
        engine=question.profile.engine,
        version=question.version,
        ranks=question.ranks,
        tensor=question.tensor,
    )
    kv, uncounted = _counted(question, shape)
    meanings = {flag.name: _meaning(flag, question, shape, kv) for flag in question.flags}
    found = budget(
        question.profile, question.rooms, flags=question.flags, meanings=meanings, ranks=question.ranks
    )
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
        notes=(*_notes(question, shape), *((uncounted,) if uncounted and holds_tokens else ())),
        doubts=_doubts(question, shape, kv),
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
    return replace(meaning, unit_bytes=_unit_bytes(meaning, flag, question, shape, kv))


def _unit_bytes(
    meaning: Meaning, flag: Flag, question: Question, shape: Shape, kv: KvCache | None
) -> int | None:
    """What one unit of another kind than bytes comes to, where the numbers for it are known."""
    if meaning.unit == "fraction" and flag.name.startswith("hicache") and question.available_bytes:
        return max(0, question.available_bytes - LEFT_ALONE_BYTES) if meaning.scope != "per-rank" else None
    if kv is None:
        return None
    if meaning.unit == "ratio" and flag.name.startswith("hicache"):
        plain = question.config is None or not _other_layers(question.config, shape)
        return question.device_tokens * kv.bytes_per_token if question.device_tokens and plain else None
    if meaning.unit == "tokens":
        return kv.bytes_per_token
    return kv.bytes_per_token * _page(question.config, shape) if meaning.unit == "blocks" else None


def _other_layers(config: Mapping[str, Any], shape: Shape) -> bool:
    """Whether some of its layers have device pools of their own, which tokens do not measure."""
    try:
        layers = model_layers(config, shape)
    except ValueError:
        return True
    return bool(layers.sliding or layers.recurrent)


def _pool(size: FlagSize, kv: KvCache, shape: Shape, question: Question) -> HostPool | None:
    """One rank's pool for what is asked, or for what fits where nothing is."""
    value = size.value if size.value is not None else size.fits
    per_unit, page = size.meaning.bytes_per_unit, _page(question.config, shape)
    if value is None or per_unit is None or not size.meaning.scope:
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


def _doubts(question: Question, shape: Shape, kv: KvCache | None) -> tuple[str, ...]:
    """Why nothing is proven, or which number is missing."""
    return tuple(doubt for flag in question.flags if (doubt := _doubt(flag, question, shape, kv)))


def _doubt(flag: Flag, question: Question, shape: Shape, kv: KvCache | None) -> str:
    explanation, name = question.explanations.get(flag.name), flag.name
    if explanation is None:
        return f"what {name} means was not read from source"
    if explanation.verdict == "no-such-flag":
        return explanation.unproven_because or f"this release has no flag {name}"
    if not explanation.is_proven:
        return f"what {name} means is not proven: {explanation.unproven_because or 'the trail is lost'}"
    if _meaning(flag, question, shape, kv).bytes_per_unit is not None:
        return ""
    counted = {"ratio": "is a ratio", "fraction": "is a fraction"}.get(
        explanation.unit, f"counts in {explanation.unit}"
    )
    return f"{name} {counted}: {_missing(flag, explanation, question, shape, kv)}"


def _missing(
    flag: Flag, explanation: Explanation, question: Question, shape: Shape, kv: KvCache | None
) -> str:
    """The number that bytes would need, and what gives it."""
    if explanation.unit == "fraction":
        return (
            "what it is a fraction of is not known here"
            if question.available_bytes
            else "--available gives it"
        )
    if question.config is None:
        return "the model's config.json is missing (--model-config FILE)"
    if kv is None:
        return "bytes of a token cannot be counted from the model's config.json"
    if not flag.name.startswith("hicache") or _other_layers(question.config, shape):
        return "the sizes of all its device pools are not known before the launch"
    return "the device tokens are missing: --device-tokens N, or a recorded launch of this profile"


def _notes(question: Question, shape: Shape) -> tuple[str, ...]:
    """What stands beside the arithmetic: claims that the source contradicts, and what was seen in the field."""
    notes = [note for flag in question.flags if (note := _contradiction(flag, question))]
    flags, explanation = values_of(question.profile.flags), question.explanation
    if question.flag == "kv_offloading_size":
        notes.append(
            "vLLM has been seen to take 1.92 times this as shared memory (vllm issue 53042): leave room"
        )
        ignores = is_at_least(shape.version, _LMCACHE_IGNORES_FROM)
        if flags.get("kv_offloading_backend") == "lmcache" and ignores:
            notes.append(
                "with the lmcache backend this release does not pass it on: LMCache's own server decides"
            )
    asks = question.flag in flags
    if explanation and explanation.default and not asks and not isinstance(explanation.default, bool):
        notes.append(f"left out, the engine takes its default: {explanation.default} {explanation.unit}")
    return tuple(notes)


def _contradiction(flag: Flag, question: Question) -> str:
    """A profile that says otherwise than the source."""
    explanation = question.explanations.get(flag.name)
    if explanation is None or not explanation.is_proven or flag not in question.profile.flags:
        return ""
    claimed = {flag.unit, flag.scope} - {None, explanation.unit, explanation.scope}
    if not claimed:
        return ""
    said = f"{flag.unit or ''} {(flag.scope or '').replace('-', ' ')}".strip()
    shown = f"{explanation.unit} {explanation.scope.replace('-', ' ')}"
    return f"the profile says {flag.name} is {said}, and the source says {shown}: a launch refuses that"
