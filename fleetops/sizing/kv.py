"""KV-cache arithmetic as SGLang does it: bytes a token takes on one rank, and host tokens for a size in GB.

Sources: sglang/srt/mem_cache/memory_pool_host.py (0.4.8 to 0.5.13) and pool_host/ (0.5.14 on); the numbers in
tests/sizing were had by running the classes of those releases.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fleetops.model.units import GB
from fleetops.sizing.releases import at_least

# From this release on the pool is one page larger than the floor, also when the floor is exact.
ONE_PAGE_MORE_FROM = "0.5.5.post3"
# From this release on the DSA indexer has a pool of its own, outside the size that was asked for.
INDEXER_APART_FROM = "0.5.11"
# From this release on K and V of different widths are counted apart; before, K's width counts twice.
V_COUNTED_FROM = "0.5.23"
_INDEXER_BLOCK = 128


@dataclass(frozen=True, kw_only=True)
class HostPool:
    """A host pool of one rank: whole pages."""

    tokens: int
    size_bytes: int


def host_pool(gigabytes: float, bytes_per_token: int, *, page: int, version: str) -> HostPool:
    """The pool that `--hicache-size` of so many GB (10^9 bytes) gives on one rank, to the token."""
    return _in_pages(int(gigabytes * GB // bytes_per_token), bytes_per_token, page=page, version=version)


def host_pool_by_ratio(
    ratio: float, device_tokens: int, bytes_per_token: int, *, page: int, version: str
) -> HostPool:
    """The pool that `--hicache-ratio` gives on one rank."""
    return _in_pages(int(device_tokens * ratio), bytes_per_token, page=page, version=version)


def _in_pages(tokens: int, bytes_per_token: int, *, page: int, version: str) -> HostPool:
    pages = tokens // page + (1 if at_least(version, ONE_PAGE_MORE_FROM) else 0)
    return HostPool(tokens=pages * page, size_bytes=pages * page * bytes_per_token)


def bytes_per_token(
    config: Mapping[str, Any],
    *,
    tensor_parallel: int,
    element_bytes: int,
    version: str,
    layers: int | None = None,
) -> int:
    """Bytes that one token takes in the host pool of one rank.

    Args:
        config: the model's config.json; a nested `text_config` counts.
        tensor_parallel: attention tensor-parallel size. MLA ignores it: every rank keeps the whole latent.
        element_bytes: of the KV store's type (2 for bf16, 1 for fp8).
        version: the engine's release, which decides what is counted.
        layers: layers on this rank; all of the model's by default.

    Raises:
        ValueError: a field that the arithmetic needs is missing.
    """
    model = _text_model(config)
    depth = layers if layers is not None else _field(model, "num_hidden_layers")
    if model.get("kv_lora_rank"):
        return _latent_bytes(model, element_bytes, version) * depth
    heads = max(1, _kv_heads(model) // tensor_parallel)
    key_width = _head_dim(model)
    value_width = _value_width(model, key_width) if at_least(version, V_COUNTED_FROM) else key_width
    return heads * (key_width + value_width) * depth * element_bytes


def _latent_bytes(model: Mapping[str, Any], element_bytes: int, version: str) -> int:
    """MLA: the compressed latent and the rotary part; with DSA up to 0.5.10 the indexer as well, one byte each."""
    latent = (_field(model, "kv_lora_rank") + _field(model, "qk_rope_head_dim")) * element_bytes
    width = model.get("index_head_dim")
    if not width or at_least(version, INDEXER_APART_FROM):
        return int(latent)
    return int(latent + indexer_bytes(int(width)))


def indexer_bytes(index_head_dim: int) -> int:
    """Bytes that the DSA indexer takes for one token and layer: one a dimension and a float32 scale for each block."""
    return index_head_dim + index_head_dim // _INDEXER_BLOCK * 4


def _text_model(config: Mapping[str, Any]) -> Mapping[str, Any]:
    nested = config.get("text_config")
    return nested if isinstance(nested, Mapping) else config


def _kv_heads(model: Mapping[str, Any]) -> int:
    return (
        int(model["num_key_value_heads"])
        if model.get("num_key_value_heads")
        else _field(model, "num_attention_heads")
    )


def _head_dim(model: Mapping[str, Any]) -> int:
    if model.get("head_dim"):
        return int(model["head_dim"])
    return _field(model, "hidden_size") // _field(model, "num_attention_heads")


def _value_width(model: Mapping[str, Any], key_width: int) -> int:
    return int(model.get("v_head_dim") or key_width)


def _field(model: Mapping[str, Any], name: str) -> int:
    value = model.get(name)
    if not isinstance(value, int) or value < 1:
        raise ValueError(f"the model's config.json has no usable {name} (it says {value!r})")
    return value
