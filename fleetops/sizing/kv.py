"""KV-cache arithmetic as SGLang (and, for plain models, vLLM) does it: bytes a token takes on one rank.

Sources: sglang/srt/mem_cache/memory_pool_host.py (0.4.8 to 0.5.13) and pool_host/ (0.5.14 on), configs/model_config.py;
the numbers in tests/sizing were had by running the classes of those releases.
"""

from collections.abc import Mapping
from typing import Any

from fleetops.model.kv import KvCache
from fleetops.sizing.element import FP8, Element, element_of
from fleetops.sizing.layers import Layers, layers_of
from fleetops.sizing.releases import is_at_least
from fleetops.sizing.shape import Shape
from fleetops.sizing.sliding import have_pool_of_their_own

# The DSA indexer is part of what the size covers in these releases; before, the host pool has none; after, its own.
INDEXER_INSIDE_FROM, INDEXER_APART_FROM = "0.5.9", "0.5.11"
# From this release on K and V of different widths are counted apart; before, K's width counts twice.
V_COUNTED_FROM = "0.5.14"
# From this release on an MTP draft's layers are packed into the target's pool.
DRAFT_PACKED_FROM = "0.5.18"
# From these releases on HiCache takes models with recurrent layers, and with sliding-window pools.
RECURRENT_FROM, SLIDING_FROM = "0.5.10", "0.5.12"
# From this release on one size is split over the pools of a hybrid model in proportion to their device pools.
SPLIT_FROM = "0.5.17"

# No model is larger; a configuration that says so is broken.
_MOST, _MOST_LAYERS = 10**7, 10_000

_INDEXER_BLOCK = 128
_SCALE_BYTES = 4
_FP4_BLOCK = 16

_DEEPEST = 3
_TEXT_PARTS = ("thinker_config", "llm_config", "language_config", "text_config")
_LAYERS = ("num_hidden_layers", "n_layer", "num_layers")
_HEADS = ("num_attention_heads", "n_head", "num_heads")
_KV_HEADS = ("num_key_value_heads", "n_head_kv", "num_kv_heads", "multi_query_group_num")
_HIDDEN = ("hidden_size", "n_embd", "d_model")
# Fields that change the arithmetic in ways that are not followed here.
_ODDITIES = {
    "block_configs": "its layers differ in their heads",
    "cross_attention_layers": "some of its layers attend to images only",
    "global_head_dim": "its full-attention layers have heads of another width",
    "is_encoder_decoder": "it has an encoder, too",
    "loop_num": "its layers are run several times",
    "num_kv_shared_layers": "some of its layers share their cache",
}


def kv_cache(config: Mapping[str, Any], shape: Shape) -> KvCache:
    """What a token takes in the host pool of one rank.

    Args:
        config: the model's config.json; a nested text part counts.
        shape: how the launch spreads and stores it.

    Raises:
        ValueError: a field that the arithmetic needs is missing, no layer keeps tokens, or the engine does not size
            this model by a flag.
    """
    model = text_model(config)
    _refuse_compressed(config, model)
    stages = model_layers(config, shape).stages(shape.pipeline)
    layers = max(stages, key=lambda stage: stage.full)
    element = element_of(config, model, shape)
    drafts = packed_drafts(model, shape)
    width, words, whys = _token_width(model, element, shape)
    depth = (layers.full or layers.sliding) + drafts
    if not depth:
        raise ValueError("by its config.json no layer of the model keeps a cache of tokens")
    uneven = len({stage.full for stage in stages}) > 1
    inexact = (
        *element.inexact,
        *whys,
        *_unsure_layers(layers, shape, uneven=uneven),
        *_unsure(model, shape, drafts),
    )
    return KvCache(
        bytes_per_token=max(1, width) * depth,
        layers=depth,
        detail=f"{depth} layers x {words}",
        inexact=tuple(dict.fromkeys(inexact)),
    )


def text_model(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a multimodal configuration that describes the language model; it may be nested twice."""
    for _ in range(_DEEPEST):
        nested = next((config[name] for name in _TEXT_PARTS if isinstance(config.get(name), Mapping)), None)
        if nested is None:
            break
        config = {"model_type": config.get("model_type"), **nested}
    return config


def model_layers(config: Mapping[str, Any], shape: Shape) -> Layers:
    """The model's layers as this engine keeps them: a window counts as one only where it has a pool of its own.

    Raises ValueError where config.json does not say how many there are.
    """
    model, names = text_model(config), architectures(config)
    doubled = 2 if any(name.startswith("LongcatFlash") for name in names) else 1
    layers = layers_of(model, _field(model, _LAYERS, most=_MOST_LAYERS) * doubled)
    if not layers.sliding or shape.engine != "sglang":
        return layers
    apart = have_pool_of_their_own(names, shape.version, opted_in=bool(model.get("is_hybrid_swa")))
    return layers.without_windows() if apart is False or shape.one_window_pool else layers


def architectures(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The class names that the model goes by."""
    named = config.get("architectures")
    return tuple(map(str, named)) if isinstance(named, list) else ()


def is_latent(model: Mapping[str, Any]) -> bool:
    """MLA: every rank keeps the whole compressed latent."""
    return bool(model.get("kv_lora_rank")) and model.get("use_mla") is not False


def indexer_bytes(model: Mapping[str, Any]) -> int:
    """Of the DSA indexer, for one token and layer: one a dimension and a float32 scale for each block; 0 without one."""
    width = model.get("index_head_dim")
    if not isinstance(width, int) or not 0 < width <= _MOST or not is_latent(model):
        return 0
    return width + width // _INDEXER_BLOCK * _SCALE_BYTES


def latent_width(model: Mapping[str, Any]) -> int:
    """Elements of MLA's latent and its rotary part, for one token and layer. Raises ValueError."""
    return _field(model, ("kv_lora_rank",)) + _field(model, ("qk_rope_head_dim",))


def packed_drafts(model: Mapping[str, Any], shape: Shape) -> int:
    """Layers of a model's own MTP draft that lie in the target's pool."""
    own = shape.speculative in {"EAGLE", "NEXTN"} and not shape.draft
    return (
        1
        if own and is_at_least(shape.version, DRAFT_PACKED_FROM) and model.get("num_nextn_predict_layers")
        else 0
    )


Width = tuple[int, str, tuple[str, ...]]


def _token_width(model: Mapping[str, Any], element: Element, shape: Shape) -> Width:
    """Bytes of one token and layer, the same in words, and why that may be otherwise."""
    if is_latent(model):
        return _latent(model, element, shape)
    heads, total = _rank_heads(model, shape)
    key = _head_dim(model)
    narrower = model.get("v_head_dim") and is_at_least(shape.version, V_COUNTED_FROM)
    value = _field(model, ("v_head_dim",)) if narrower else key
    split = f"{heads} of {total} KV heads" if heads < total else f"{heads} KV heads"
    widths = f"2 x {key}" if key == value else f"({key} + {value})"
    whys = () if total % shape.tensor == 0 or shape.tensor % total == 0 else (
        f"{total} KV heads do not come out even over {shape.tensor} ranks",
    )  # fmt: skip
    elements = heads * (key + value)
    return _stored(elements, element), f"{split} x {widths} x {_spelled(element)}", whys


def _latent(model: Mapping[str, Any], element: Element, shape: Shape) -> Width:
    """The latent and the rotary part; for DSA with what its fp8 store adds, and in some releases the indexer."""
    rank, rope = _field(model, ("kv_lora_rank",)), _field(model, ("qk_rope_head_dim",))
    width, words = _stored(rank + rope, element), f"({rank} + {rope}) x {_spelled(element)}"
    index = indexer_bytes(model)
    whys = _unsure_sparse(shape) if index else ()
    if index:
        if element.name in FP8 and shape.dsa_backends and "trtllm" not in shape.dsa_backends:
            # model_runner_kv_cache_mixin.py:calculate_mla_kv_cache_dim: scales, and the rotary part in bf16
            scales = rank // _INDEXER_BLOCK * _SCALE_BYTES
            width, words = rank + scales + rope * 2, f"({rank} + {scales} scales + {rope} x 2)"
        if is_at_least(shape.version, INDEXER_INSIDE_FROM) and not is_at_least(
            shape.version, INDEXER_APART_FROM
        ):
            width, words = width + index, f"({words} + {index} of the indexer)"
    return width, f"{words}, whole on every rank", whys


def _unsure_sparse(shape: Shape) -> tuple[str, ...]:
    """What the GPU decides for sparse attention, and no flag says."""
    if shape.kv_dtype == "auto":
        return ("for sparse attention `auto` is fp8 on Blackwell and bf16 before: --kv-dtype settles it",)
    if shape.kv_dtype in FP8 and not shape.dsa_backends:
        return ("an fp8 store of sparse attention is wider with some kernels, and no flag names one",)
    return ()


def _stored(elements: int, element: Element) -> int:
    """Bytes of so many elements; fp4 takes half a byte each and a scale for each block."""
    if element.size_bytes is None:
        return elements // 2 + elements // _FP4_BLOCK
    return elements * element.size_bytes


def _spelled(element: Element) -> str:
    if element.size_bytes is None:
        return "half a byte and scales"
    return f"{element.size_bytes} byte{'s' if element.size_bytes > 1 else ''}"


def _unsure_layers(layers: Layers, shape: Shape, *, uneven: bool) -> tuple[str, ...]:
    """What is not known of a model whose layers differ."""
    whys = (
        [f"config.json has layers of a kind unknown here: {', '.join(layers.unknown)}"]
        if layers.unknown
        else []
    )
    if layers.recurrent or layers.sliding:
        least = RECURRENT_FROM if layers.recurrent else SLIDING_FROM
        if shape.engine != "sglang":
            whys.append("a hybrid model's layers share blocks in ways that are not followed here")
        elif not is_at_least(shape.version, least):
            whys.append(f"HiCache does not take such a hybrid model before {least}")
        elif is_at_least(shape.version, SPLIT_FROM):
            whys.append(
                "the size is split over its pools as the device pools are; counted as if all were attention's"
            )
    if uneven:
        whys.append("the pipeline's stages differ: counted for the one that keeps most")
    return tuple(whys)


def _unsure(model: Mapping[str, Any], shape: Shape, drafts: int) -> tuple[str, ...]:
    whys = [f"of this model {why}" for name, why in _ODDITIES.items() if model.get(name)]
    if not shape.version:
        whys.append("the engine's release is not known: counted as in the newest one read")
    if shape.decode_context > 1:
        whys.append("decode context parallelism spreads tokens over ranks, which is not followed here")
    if drafts:
        whys.append("one layer of its draft is counted into the pool")
    return tuple(whys)


def _refuse_compressed(config: Mapping[str, Any], model: Mapping[str, Any]) -> None:
    names = [*architectures(config), str(model.get("model_type"))]
    if any(name.lower().replace("_", "").startswith("deepseekv4") for name in names):
        raise ValueError("SGLang sizes DeepSeek V4's host pools by ratio alone and refuses --hicache-size")


def _rank_heads(model: Mapping[str, Any], shape: Shape) -> tuple[int, int]:
    """KV heads of one rank and in all; where there are more ranks than heads each keeps a copy of one."""
    attention = model.get("attn_config")
    if isinstance(attention, Mapping) and attention.get("kv_n_heads"):
        total = _field(attention, ("kv_n_heads",))
    elif model.get("multi_query") and not model.get("new_decoder_architecture"):
        total = 1
    else:
        total = (
            _field(model, _KV_HEADS) if any(model.get(name) for name in _KV_HEADS) else _field(model, _HEADS)
        )
    return max(1, total // shape.tensor), total


def _head_dim(model: Mapping[str, Any]) -> int:
    if model.get("head_dim"):
        return _field(model, ("head_dim",))
    return _field(model, _HIDDEN) // _field(model, _HEADS)


def _field(model: Mapping[str, Any], names: tuple[str, ...], most: int = _MOST) -> int:
    """The first of these that is there. Raises ValueError where none is usable."""
    value = next((model[name] for name in names if model.get(name) is not None), None)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= most:
        raise ValueError(f"the model's config.json has no usable {names[0]} (it says {value!r})")
    return value
