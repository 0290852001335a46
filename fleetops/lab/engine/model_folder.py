"""The models that the lab's nodes have: a model folder's shape, with the lab's own note of how big its weights are.

The weights of `example` are chosen so that, on GPUs of which CUDA sees 96294 MiB and with eight ranks, the engine's
own arithmetic gives the incident's figures: 231120 tokens at a static fraction of 0.88, and 116171 at 0.80.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SHARDS = 8


@dataclass(frozen=True)
class LabModel:
    """One model folder."""

    name: str
    weight_bytes_total: int
    config: dict[str, Any]


EXAMPLE = LabModel(
    "example",
    8 * 72_613_673_000,
    {
        "architectures": ["DeepseekV3ForCausalLM"],
        "model_type": "deepseek_v3",
        "hidden_size": 7168,
        "kv_lora_rank": 512,
        "max_position_embeddings": 163840,
        "n_routed_experts": 256,
        "num_attention_heads": 128,
        "num_hidden_layers": 61,
        "num_key_value_heads": 128,
        "q_lora_rank": 1536,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "torch_dtype": "bfloat16",
        "v_head_dim": 128,
        "vocab_size": 129280,
    },
)
SMALL = LabModel(
    "small",
    16_060_522_496,
    {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "head_dim": 128,
        "hidden_size": 4096,
        "max_position_embeddings": 131072,
        "num_attention_heads": 32,
        "num_hidden_layers": 32,
        "num_key_value_heads": 8,
        "torch_dtype": "bfloat16",
        "vocab_size": 128256,
    },
)
MODELS = (EXAMPLE, SMALL)


def write_models(folder: Path) -> None:
    """Write every model below `folder`, as /models of a node."""
    for model in MODELS:
        target = folder / model.name
        target.mkdir(parents=True, exist_ok=True)
        (target / "config.json").write_text(json.dumps(model.config, indent=2) + "\n")
        (target / "lab.json").write_text(json.dumps({"weight_bytes_total": model.weight_bytes_total}) + "\n")
        (target / "generation_config.json").write_text(json.dumps({"temperature": 0.6, "top_p": 0.95}) + "\n")
        (target / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 131072}) + "\n")
        (target / "model.safetensors.index.json").write_text(json.dumps(_index(model), indent=2) + "\n")


def _index(model: LabModel) -> dict[str, Any]:
    """The index of the weights' files; the files themselves are what a lab does without."""
    layers = model.config["num_hidden_layers"]
    files = {
        f"model.layers.{layer}.weight": f"model-{layer % _SHARDS + 1:05d}-of-{_SHARDS:05d}.safetensors"
        for layer in range(layers)
    }
    return {"metadata": {"total_size": model.weight_bytes_total}, "weight_map": files}
