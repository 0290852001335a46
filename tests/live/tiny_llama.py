"""Make a random Llama that a CPU serves: `python tiny_llama.py FOLDER`, with the interpreter that has transformers.

Two layers and 320 tokens, 377 thousand parameters; its tokenizer has one token for each byte.
"""

import json
import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM

SPECIAL = ("<s>", "</s>", "<pad>")
LONGEST = 512


def make_tokenizer(folder: Path) -> dict[str, int]:
    """Write the tokenizer's two files; the numbers of the special tokens."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: number for number, letter in enumerate((*letters, *SPECIAL))}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.save(str(folder / "tokenizer.json"))
    names = dict(zip(("bos_token", "eos_token", "pad_token"), SPECIAL, strict=True))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": LONGEST, **names}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return {name: vocabulary[word] for name, word in names.items()}


def make_model(folder: Path, special: dict[str, int]) -> int:
    """Write config and weights; how many parameters there are."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=320,
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=LONGEST,
        **{f"{name}_id": number for name, number in special.items()},
    )
    model = LlamaForCausalLM(config).to(torch.bfloat16)
    model.save_pretrained(folder)
    for (
        written
    ) in folder.iterdir():  # weights are written for their owner alone; the lab's hosts are another's
        written.chmod(0o644)
    return sum(each.numel() for each in model.parameters())


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    print(make_model(target, make_tokenizer(target)), "parameters")
