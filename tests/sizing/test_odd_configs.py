"""A config.json may hold anything: it is counted, or refused in words, and the answer always comes."""

import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st
from sizing_cases import MODELS, THERE, model, profile, proof

from fleetops.model.fleet import Flag
from fleetops.sizing.answer import answer
from fleetops.sizing.budget import Room, Rooms
from fleetops.sizing.kv import kv_cache
from fleetops.sizing.meaning import meaning_of
from fleetops.sizing.question import Question
from fleetops.sizing.shape import Shape

NAMES = [path.stem for path in sorted(MODELS.glob("*.json"))]
KEYS = sorted({key for name in NAMES for key in model(name)} | {
    "attn_layer_indices", "attn_type_list", "attn_config", "layers_block_type", "attn_layer_period", "multi_query",
    "attn_layer_offset", "layer_group_size", "quantization_config", "text_config", "index_head_dim", "kv_lora_rank",
})  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**12) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=8,
)
SHAPES = st.builds(
    Shape,
    engine=st.sampled_from(["sglang", "vllm", "lmcache"]),
    version=st.sampled_from(["", "0.5.9", "0.5.11", "0.5.16", "0.5.23", "0.33.0", "main"]),
    tensor=st.integers(1, 64),
    pipeline=st.integers(1, 80),
    page=st.none() | st.integers(1, 256),
    kv_dtype=st.sampled_from(["auto", "fp8_e4m3", "fp4_e2m1", "bf16", "?"]),
    speculative=st.sampled_from(["", "EAGLE", "EAGLE3", "NGRAM"]),
    draft=st.sampled_from(["", "/models/draft"]),
)


@settings(max_examples=400, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    changes=st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=5),
    shape=SHAPES,
)
def test_it_is_counted_or_refused_in_words(name, changes, shape):
    config = {**model(name), **changes}
    with contextlib.suppress(ValueError):
        assert kv_cache(config, shape).bytes_per_token >= 1
    found = meaning_of(proof(version=shape.version, simultaneous=3), model_config=config, shape=shape)
    assert 1 <= found.pools <= 3
    assert all(pool.share is None or pool.share > 0 for pool in found.beside)


@settings(max_examples=100, deadline=None)
@given(
    changes=st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=5),
    value=st.integers(0, 10**6) | st.floats(0, 10**6) | st.just("auto"),
    unit=st.sampled_from(["GB", "GiB", "bytes", "tokens", "blocks", "ratio", "fraction", "unknown"]),
    scope=st.sampled_from(["per-rank", "total", "per-node", "unknown"]),
    device_tokens=st.none() | st.integers(1, 10**6),
)
def test_the_answer_always_comes(changes, value, unit, scope, device_tokens):
    flag = Flag(name="hicache_size", value=value)
    question = Question(
        profile=profile(flags=(flag,)), flags=(flag,), flag=flag.name, ranks=8, available_bytes=THERE,
        explanations={flag.name: proof(unit=unit, scope=scope)}, config={**model("deepseek-v3.2"), **changes},
        rooms=Rooms(rooms=(Room(label="there", size_bytes=THERE),)), device_tokens=device_tokens,
    )  # fmt: skip
    assert answer(question).verdict in {"fits", "does-not-fit", "unproven"}
