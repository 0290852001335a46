"""How a launch spreads and stores its cache, from its flags: parallel sizes, page, types, drafts."""

from collections.abc import Mapping
from dataclasses import dataclass

from fleetops.model.fleet import Flag, FlagValue, Profile

# Each name with the spellings that SGLang and vLLM have for it.
_NAMES = {
    "tensor": ("tp_size", "tp", "tensor_parallel_size"),
    "pipeline": ("pp_size", "pp", "pipeline_parallel_size"),
    "data": ("dp_size", "dp", "data_parallel_size"),
    "context": ("attn_cp_size", "attention_context_parallel_size"),
    "decode_context": ("dcp_size", "decode_context_parallel_size"),
    "page": ("page_size", "block_size"),
    "kv_dtype": ("kv_cache_dtype",),
    "dtype": ("dtype",),
    "speculative": ("speculative_algorithm", "speculative_algo"),
    "draft": ("speculative_draft_model_path", "speculative_draft_model"),
}
_MOST_DIGITS = 10
_DSA_BACKENDS = ("nsa_prefill_backend", "nsa_decode_backend", "dsa_prefill_backend", "dsa_decode_backend")
READ_FLAGS = frozenset(
    (
        *(spelling for spellings in _NAMES.values() for spelling in spellings),
        *_DSA_BACKENDS,
        "enable_dp_attention",
        "disable_hybrid_swa_memory",
    )
)
"""Every flag that `shape_of` looks at."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """What of a launch decides the size of its cache.

    Attributes:
        version: of the engine; "" where nothing tells.
        ranks: on this node.
        tensor: the tensor-parallel size of attention: data-parallel attention and context parallelism take from it.
        page: tokens of a page; None where no flag says.
        kv_dtype, dtype: as the flags spell them.
        speculative: the algorithm, in upper case; "" without one.
        draft: the draft model's folder or name; "" where the model drafts for itself.
        dsa_backends: what the flags say of sparse attention's kernels.
        one_window_pool: sliding windows are denied a pool of their own.
    """

    engine: str = "sglang"
    version: str = ""
    ranks: int = 1
    tensor: int = 1
    pipeline: int = 1
    decode_context: int = 1
    page: int | None = None
    kv_dtype: str = "auto"
    dtype: str = "auto"
    speculative: str = ""
    draft: str = ""
    dsa_backends: tuple[str, ...] = ()
    one_window_pool: bool = False


def shape_of(
    flags: Mapping[str, FlagValue], *, engine: str, version: str, ranks: int, tensor: int | None = None
) -> Shape:
    """The shape of a launch with these flags (names with underscores) and so many ranks on this node.

    `tensor` is the tensor-parallel size where no flag says it; without it, this node's ranks are all there are.
    """
    pipeline = _whole(flags, "pipeline") or 1
    data = (_whole(flags, "data") or 1) if flags.get("enable_dp_attention") else 1
    context = _whole(flags, "context") or 1
    tensor = _whole(flags, "tensor") or tensor or max(1, ranks // pipeline)
    return Shape(
        engine=engine,
        version=version,
        ranks=ranks,
        tensor=max(1, tensor // data // context),
        pipeline=pipeline,
        decode_context=_whole(flags, "decode_context") or 1,
        page=_whole(flags, "page"),
        kv_dtype=_text(flags, "kv_dtype").lower() or "auto",
        dtype=_text(flags, "dtype").lower() or "auto",
        speculative=_text(flags, "speculative").upper(),
        draft=_text(flags, "draft"),
        dsa_backends=tuple(str(flags[name]) for name in _DSA_BACKENDS if flags.get(name)),
        one_window_pool=bool(flags.get("disable_hybrid_swa_memory")),
    )


def profile_shape(profile: Profile, *, version: str = "", ranks: int | None = None) -> Shape:
    """The shape of a profile's launch: its ranks are the tensor-parallel size; `ranks` are those on one node."""
    return shape_of(
        values_of(profile.flags),
        engine=profile.engine,
        version=version,
        ranks=ranks or profile.ranks,
        tensor=profile.ranks,
    )


def values_of(flags: tuple[Flag, ...]) -> dict[str, FlagValue]:
    """A profile's flags as plain values, by name."""
    return {flag.name: flag.value for flag in flags}


def _text(flags: Mapping[str, FlagValue], name: str) -> str:
    found = (flags[spelling] for spelling in _NAMES[name] if spelling in flags)
    return next((str(value) for value in found if not isinstance(value, bool)), "")


def _whole(flags: Mapping[str, FlagValue], name: str) -> int | None:
    text = _text(flags, name)
    return int(text) if text.isdecimal() and len(text) < _MOST_DIGITS and int(text) > 0 else None
