"""Bytes of one element of the KV store, from the launch's flags and the model's config.json."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fleetops.sizing.shape import Shape

_BYTES = {
    **dict.fromkeys(("float32", "float"), 4),
    **dict.fromkeys(("bfloat16", "bf16", "float16", "half", "fp16"), 2),
    **dict.fromkeys(("fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc", "int8"), 1),
}
FP8 = ("fp8", "fp8_e4m3")
KNOWN_TYPES = ("auto", *_BYTES, "fp4_e2m1")
"""The types of a KV store whose bytes can be counted, as flags spell them."""


@dataclass(frozen=True, kw_only=True)
class Element:
    """One element of the store.

    Attributes:
        name: of its type.
        size_bytes: None for a type of less than a byte (fp4).
        inexact: why it may be another; empty where it cannot.
    """

    name: str
    size_bytes: int | None
    inexact: tuple[str, ...] = ()


def element_of(config: Mapping[str, Any], model: Mapping[str, Any], shape: Shape) -> Element:
    """The store's element. `auto` is the model's own type, unless its checkpoint brings another for the cache."""
    if shape.kv_dtype == "auto":
        return _automatic(config, model, shape)
    if shape.kv_dtype in _BYTES:
        return Element(name=shape.kv_dtype, size_bytes=_BYTES[shape.kv_dtype])
    if "fp4" in shape.kv_dtype:
        why = f"{shape.kv_dtype} takes half a byte and a scale for each block, whose place differs by release"
        return Element(name=shape.kv_dtype, size_bytes=None, inexact=(why,))
    why = f"the KV store's type {shape.kv_dtype!r} is not known here: counted as 1 byte"
    return Element(name=shape.kv_dtype, size_bytes=1, inexact=(why,))


def _automatic(config: Mapping[str, Any], model: Mapping[str, Any], shape: Shape) -> Element:
    quantised = _cache_in_checkpoint(config)
    if quantised:
        return quantised
    name = shape.dtype
    if name not in _BYTES:
        said = (of.get(key) for of in (model, config) for key in ("dtype", "torch_dtype"))
        name = str(next(filter(None, said), "")).removeprefix("torch.")
    if name == "float32" and shape.dtype == "auto":
        name = "float16"  # model_config.py:_get_and_verify_dtype; vLLM does the same
    if name not in _BYTES:
        return Element(
            name="bfloat16",
            size_bytes=2,
            inexact=("config.json does not say the model's type: counted as 2 bytes (--kv-dtype says it)",),
        )
    return Element(name=name, size_bytes=_BYTES[name])


def _cache_in_checkpoint(config: Mapping[str, Any]) -> Element | None:
    """A quantised checkpoint may bring scales for an fp8 cache, which `auto` then takes (configure_kv_cache_dtype)."""
    found = config.get("quantization_config")
    if not isinstance(found, Mapping):
        return None
    scheme = found.get("kv_cache_scheme")
    named = str(found.get("kv_cache_quant_algo") or "").upper()
    if named == "FP8" or (isinstance(scheme, Mapping) and scheme.get("num_bits") == 8):
        why = (
            "the checkpoint brings an fp8 cache, which `auto` takes in newer releases: --kv-dtype settles it"
        )
        return Element(name="fp8_e4m3", size_bytes=1, inexact=(why,))
    if not named and str(found.get("quant_method", "")).startswith("modelopt"):
        why = (
            "its hf_quant_config.json may bring an fp8 cache, which `auto` would take: --kv-dtype settles it"
        )
        return Element(name="bfloat16", size_bytes=2, inexact=(why,))
    return None
