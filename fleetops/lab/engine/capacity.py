"""How many tokens fit: the arithmetic of SGLang 0.5.9's device pool and host pool. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MIB = 2**20
GIB = 2**30
GB = 10**9


@dataclass(frozen=True, kw_only=True)
class Model:
    """What the arithmetic needs of a model.

    Attributes:
        architecture: the class name of its config.json.
        cell_bytes: bytes of KV cache per token on one rank.
        weight_bytes: weights on each rank's GPU, from the lab's own file beside the model.
        context_tokens: longest context.
        latent: multi-head latent attention, whose cache every rank holds whole.
    """

    architecture: str
    model_type: str
    cell_bytes: int
    weight_bytes: int
    context_tokens: int
    latent: bool


def read_model(config: Mapping[str, Any], lab: Mapping[str, Any], ranks: int) -> Model:
    """A model from its config.json and the lab's lab.json.

    Cells: memory_pool_host.py:719 (latent: not divided by ranks) and :316 (heads are).
    """
    layers, latent = int(config["num_hidden_layers"]), "kv_lora_rank" in config
    if latent:
        width = int(config["kv_lora_rank"]) + int(config["qk_rope_head_dim"])
    else:
        heads = max(1, int(config["num_key_value_heads"]) // ranks)
        width = (
            heads * 2 * int(config.get("head_dim", config["hidden_size"] // config["num_attention_heads"]))
        )
    return Model(
        architecture=config["architectures"][0],
        model_type=config["model_type"],
        cell_bytes=width * layers * 2,
        weight_bytes=int(lab["weight_bytes_total"]) // ranks,
        context_tokens=int(config["max_position_embeddings"]),
        latent=latent,
    )


def device_tokens(
    total_bytes: int, fraction: float, model: Model, *, page: int = 1, cap: int | None = None
) -> int:
    """Tokens of the GPU pool; zero or less means that the weights leave no room.

    As profile_max_num_token (model_runner_kv_cache_mixin.py:116): what is free after the weights, less the share
    that the static fraction leaves alone, floored to whole pages.
    """
    tokens = int((fraction * total_bytes - model.weight_bytes) // model.cell_bytes)
    if cap is not None:
        tokens = min(tokens, cap)
    return tokens // page * page


def host_tokens(size_gb: int, ratio: float, on_device: int, model: Model, *, page: int = 1) -> int:
    """Tokens of one rank's host pool (memory_pool_host.py:158): GB are 10^9 bytes, always one page more."""
    tokens = int(size_gb * 1e9 // model.cell_bytes) if size_gb > 0 else int(on_device * ratio)
    return (tokens // page + 1) * page


def static_fraction(gpu_mib: int, ranks: int, prefill_tokens: int, graph_batch: int) -> float:
    """The default of --mem-fraction-static (server_args.py:1022): what the expected activations leave."""
    reserved_mib = 512 + max(prefill_tokens, 2048) * 1.5 + graph_batch * 2 + ranks / 8 * 1024
    return round((gpu_mib - reserved_mib) / gpu_mib, 3)
