"""Which of a model's layers keep a cache that grows with every token, from its config.json.

Attention over everything (`full`) does; a sliding window keeps its last tokens; linear attention, Mamba and short
convolutions (`recurrent`) keep one state a request. The keys are those that SGLang's own configuration classes read
(configs/qwen3_next.py, kimi_linear.py, nemotron_h.py, bailing_hybrid.py, falcon_h1.py, lfm2.py, model_config.py).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

FULL, SLIDING, RECURRENT, BOTH, NONE = "full", "sliding", "recurrent", "full and recurrent", "none"

_WORDS = {
    FULL: ("full_attention", "attention", "attn", "full", "global", "global_attention", "*"),
    SLIDING: ("sliding_attention", "sliding_window", "swa", "local", "local_attention", "chunked_attention"),
    RECURRENT: (
        "linear_attention", "mamba", "mamba2", "conv", "short_conv", "recurrent", "linear", "gdn", "kda", "jet",
        "lightning_attention", "m",
    ),
    BOTH: ("hybrid",),
    NONE: ("mlp", "moe", "-", "e"),
}  # fmt: skip
_KIND = {word: kind for kind, words in _WORDS.items() for word in words}
_LLAMA4_FULL_EVERY = 4


@dataclass(frozen=True, kw_only=True)
class Layers:
    """A model's layers in order, each by the kind of its cache.

    Attributes:
        unknown: the words in config.json that name no kind known here; such a layer counts as full.
    """

    kinds: tuple[str, ...]
    unknown: tuple[str, ...] = ()

    def count(self, *kinds: str) -> int:
        """How many are of one of these kinds."""
        return sum(kind in kinds for kind in self.kinds)

    @property
    def full(self) -> int:
        """How many keep every token."""
        return self.count(FULL, BOTH)

    @property
    def sliding(self) -> int:
        """How many keep a window."""
        return self.count(SLIDING)

    @property
    def recurrent(self) -> int:
        """How many keep a state."""
        return self.count(RECURRENT, BOTH)

    def stages(self, count: int) -> "tuple[Layers, ...]":
        """The parts of so many pipeline stages; the last ones have a layer more where it does not come out even.

        As SGLang's distributed/utils.py:get_pp_indices splits them.
        """
        base, more = divmod(len(self.kinds), count)
        ends = [base * (stage + 1) + max(0, stage + 1 - (count - more)) for stage in range(count)]
        return tuple(
            replace(self, kinds=self.kinds[start:end])
            for start, end in zip([0, *ends[:-1]], ends, strict=True)
        )

    def without_windows(self) -> "Layers":
        """As an engine has them that keeps every token in windows, too."""
        return replace(self, kinds=tuple(FULL if kind == SLIDING else kind for kind in self.kinds))


def layers_of(model: Mapping[str, Any], depth: int) -> Layers:
    """The layers of a model of so many, as its (text) configuration lists or describes them; all full by default."""
    for reading in _READINGS:
        words = reading(model, depth)
        if words is not None:
            kinds = tuple(_KIND.get(word.lower(), FULL) for word in words[:depth])
            unknown = tuple(dict.fromkeys(word for word in words[:depth] if word.lower() not in _KIND))
            return Layers(kinds=kinds + (FULL,) * (depth - len(kinds)), unknown=unknown)
    return Layers(kinds=(FULL,) * depth)


Words = list[str] | None


def _named(model: Mapping[str, Any], _depth: int) -> Words:
    """A list with a word for each layer."""
    for key in ("layers_block_type", "layer_types"):
        words = model.get(key)
        if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
            return list(words)
    return None


def _lettered(model: Mapping[str, Any], _depth: int) -> Words:
    """Nemotron-H: one letter a layer, `M-M*-`."""
    pattern = model.get("hybrid_override_pattern")
    return list(pattern) if isinstance(pattern, str) and pattern else None


def _numbered(model: Mapping[str, Any], _depth: int) -> Words:
    """MiMo-V2: 1 is a window, 0 is full. MiniMax: 1 is full, 0 is linear."""
    for key, words in (("hybrid_layer_pattern", (FULL, "local")), ("attn_type_list", ("linear", FULL))):
        numbers = model.get(key)
        if isinstance(numbers, list) and numbers and all(number in (0, 1) for number in numbers):
            return [words[int(number)] for number in numbers]
    return None


def _indexed(model: Mapping[str, Any], depth: int) -> Words:
    """Kimi Linear names its linear layers, counted from 1; Bamba, LFM2 and Inkling name some layers, from 0."""
    linear = model.get("linear_attn_config")
    if isinstance(linear, Mapping) and isinstance(linear.get("kda_layers"), list):
        return ["kda" if layer + 1 in linear["kda_layers"] else FULL for layer in range(depth)]
    for key, named, others in (
        ("attn_layer_indices", FULL, "mamba"),
        ("full_attn_idxs", FULL, "conv"),
        ("local_layer_ids", "local", FULL),
    ):
        if isinstance(model.get(key), list):
            return [named if layer in model[key] else others for layer in range(depth)]
    return None


def _periodic(model: Mapping[str, Any], depth: int) -> Words:
    """Every Nth layer is full: Qwen3-Next, Bailing, Gemma 3, Jamba, Llama 4."""
    period, offset = model.get("attn_layer_period"), model.get("attn_layer_offset")
    if isinstance(period, int) and period > 0 and isinstance(offset, int):
        return [FULL if layer % period == offset else "mamba" for layer in range(depth)]
    for key, others in (
        ("full_attention_interval", "linear"),
        ("layer_group_size", "linear"),
        ("sliding_window_pattern", "local"),
    ):
        every = model.get(key)
        if isinstance(every, int) and every > 0:
            return [FULL if (layer + 1) % every == 0 else others for layer in range(depth)]
    if str(model.get("model_type", "")).startswith("llama4"):
        return [FULL if (layer + 1) % _LLAMA4_FULL_EVERY == 0 else "local" for layer in range(depth)]
    return None


def _parallel(model: Mapping[str, Any], depth: int) -> Words:
    """Falcon-H1: attention and Mamba side by side in every layer."""
    return ["hybrid"] * depth if model.get("model_type") == "falcon_h1" else None


# The first that finds something decides; a list of the model's own comes before a rule.
_READINGS: tuple[Callable[[Mapping[str, Any], int], Words], ...] = (
    _parallel,
    _indexed,
    _lettered,
    _named,
    _numbered,
    _periodic,
)
