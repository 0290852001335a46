"""KV-cache arithmetic against numbers had by running SGLang's own classes, release by release (exact to the token)."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sizing_cases import model

from fleetops.model.kv import HostPool
from fleetops.sizing.kv import kv_cache
from fleetops.sizing.pools import block_pool, host_pool, host_pool_by_ratio
from fleetops.sizing.releases import at_least, release_key
from fleetops.sizing.shape import Shape, shape_of

OLD, NEW = ("0.4.8", "0.5.4"), ("0.5.5.post3", "0.5.9", "0.5.13", "0.5.23")


def cache(name, tensor=1, version="0.5.9", kv_dtype="auto", **more):
    return kv_cache(model(name), Shape(version=version, tensor=tensor, kv_dtype=kv_dtype, **more))


# The golden numbers of facts/engines.md: (releases, model, tensor, store, GB, page) -> bytes a token, tokens, bytes.
GOLDEN = [
    (OLD, "llama-3.1-8b", 1, "auto", 2, 1, 131072, 15258, 1999896576),
    (NEW, "llama-3.1-8b", 1, "auto", 2, 1, 131072, 15259, 2000027648),
    (OLD, "llama-3.1-70b", 8, "auto", 48, 64, 40960, 1171840, 47998566400),
    (NEW, "llama-3.1-70b", 8, "auto", 48, 64, 40960, 1171904, 48001187840),
    (OLD, "qwen3-32b", 4, "auto", 3, 64, 65536, 45760, 2998927360),
    (NEW, "qwen3-32b", 4, "auto", 3, 64, 65536, 45824, 3003121664),
    (OLD, "deepseek-v3", 8, "auto", 48, 64, 70272, 683008, 47996338176),
    (NEW, "deepseek-v3", 8, "auto", 48, 64, 70272, 683072, 48000835584),
    (OLD, "deepseek-v3", 1, "auto", 300, 1, 70272, 4269125, 299999952000),
    (NEW, "deepseek-v3", 1, "auto", 300, 1, 70272, 4269126, 300000022272),
    (("0.5.9",), "llama-3.1-8b", 1, "bfloat16", 1, 64, 131072, 7680, 1006632960),
    (("0.5.9",), "deepseek-v3", 1, "bf16", 1, 64, 70272, 14272, 1002921984),
    (("0.5.9",), "llama-3.1-70b", 8, "fp8_e5m2", 1, 64, 20480, 48832, 1000079360),
    (("0.5.9",), "deepseek-v3.2", 8, "bfloat16", 48, 64, 78324, 612864, 48001959936),
]


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: f"{row[1]}-{row[4]}GB-page{row[5]}-{row[0][0]}")
def test_the_golden_numbers_are_exact_to_the_token(row):
    versions, name, tensor, kv_dtype, gigabytes, page, per_token, tokens, size_bytes = row
    for version in versions:
        found = cache(name, tensor, version, kv_dtype)
        assert (found.bytes_per_token, found.is_exact) == (per_token, True)
        pool = host_pool(gigabytes, per_token, page=page, version=version)
        assert pool == HostPool(tokens=tokens, size_bytes=size_bytes)


def test_a_ratio_multiplies_the_device_pool():
    pool = host_pool_by_ratio(2.0, 100, 131072, page=16, version="0.5.9")
    assert pool == HostPool(tokens=208, size_bytes=27262976)


def test_vllm_counts_whole_blocks_over_all_ranks():
    """Seen with vLLM 0.32.0 on a CPU: 1 GiB at 512 bytes a token gave 2,097,152 tokens."""
    found = kv_cache(model("tiny-llama"), Shape(engine="vllm", version="0.32.0"))
    assert found.bytes_per_token == 512
    assert block_pool(2**30, 512, block=16, ranks=1) == HostPool(tokens=2097152, size_bytes=2**30)
    assert block_pool(2**30, 512, block=16, ranks=4) == HostPool(tokens=524288, size_bytes=2**28)


# Multi-head and grouped-query attention.


def test_more_ranks_than_heads_keep_a_copy_of_one_head_each():
    assert cache("qwen3-32b", 8).bytes_per_token == cache("qwen3-32b", 16).bytes_per_token == 32768


def test_heads_that_do_not_come_out_even_are_said():
    uneven = cache("qwen3-32b", 3)
    assert "8 KV heads do not come out even over 3 ranks" in uneven.inexact


def test_how_a_number_comes_about_is_said():
    assert cache("llama-3.1-70b", 8).detail == "80 layers x 1 of 8 KV heads x 2 x 128 x 2 bytes"
    assert cache("deepseek-v3", 8).detail == "61 layers x (512 + 64) x 2 bytes, whole on every rank"


@pytest.mark.parametrize(
    ("config", "per_token"),
    [
        ({"n_layer": 24, "n_head": 16, "n_embd": 2048}, 2 * 2048 * 24 * 2),
        (
            {"num_hidden_layers": 2, "num_attention_heads": 8, "hidden_size": 512, "multi_query": True},
            2 * 64 * 2 * 2,
        ),
        (
            {"n_layer": 2, "n_head": 8, "n_embd": 512, "attn_config": {"kv_n_heads": 2}},
            2 * 2 * 64 * 2 * 2,
        ),
    ],
)
def test_older_spellings_of_the_same_fields(config, per_token):
    assert kv_cache({**config, "torch_dtype": "float16"}, Shape(version="0.5.9")).bytes_per_token == per_token


def test_values_narrower_than_keys_are_counted_from_0_5_14():
    wide = model("qwen3-32b", head_dim=192, v_head_dim=128)
    assert kv_cache(wide, Shape(version="0.5.13", tensor=4)).bytes_per_token == 2 * 384 * 64 * 2
    assert kv_cache(wide, Shape(version="0.5.14", tensor=4)).bytes_per_token == 2 * 320 * 64 * 2


@pytest.mark.parametrize("name", ["gemma-3-27b", "llama-4-scout"])
def test_a_multimodal_models_text_part_counts(name):
    nested = model(name)
    assert (
        kv_cache(nested, Shape(version="0.5.4")).bytes_per_token
        == {
            "gemma-3-27b": 16 * 256 * 62 * 2,
            "llama-4-scout": 8 * 256 * 48 * 2,
        }[name]
    )


@pytest.mark.parametrize(
    ("config", "named"),
    [
        ({"kv_lora_rank": 512}, "num_hidden_layers"),
        ({"num_hidden_layers": 4}, "num_attention_heads"),
        ({"num_hidden_layers": 4, "num_attention_heads": 8}, "hidden_size"),
        ({"num_hidden_layers": "61"}, "num_hidden_layers"),
        ({"num_hidden_layers": True}, "num_hidden_layers"),
    ],
)
def test_a_config_that_lacks_a_field_is_refused_by_name(config, named):
    with pytest.raises(ValueError, match=f"no usable {named}"):
        kv_cache(config, Shape(version="0.5.9"))


# The store's type.


@pytest.mark.parametrize(
    ("kv_dtype", "changes", "per_token"),
    [
        ("auto", {}, 131072),
        ("auto", {"torch_dtype": "float32"}, 131072),
        ("auto", {"torch_dtype": None, "dtype": "bfloat16"}, 131072),
        ("bf16", {}, 131072),
        ("fp8_e4m3", {}, 65536),
        ("fp8_e5m2", {"torch_dtype": None}, 65536),
    ],
)
def test_the_store_is_the_models_type_or_the_flags(kv_dtype, changes, per_token):
    found = kv_cache(model("llama-3.1-8b", **changes), Shape(version="0.5.9", kv_dtype=kv_dtype))
    assert (found.bytes_per_token, found.inexact) == (per_token, ())


def test_the_launchs_own_type_wins_over_the_models():
    assert cache("llama-3.1-8b", dtype="float32").bytes_per_token == 2 * 131072


@pytest.mark.parametrize(
    ("kv_dtype", "changes", "said"),
    [
        ("fp4_e2m1", {}, "half a byte"),
        ("int3", {}, "not known here"),
        ("auto", {"torch_dtype": None}, "--kv-dtype says it"),
        ("auto", {"quantization_config": {"kv_cache_quant_algo": "FP8"}}, "fp8 cache"),
        ("auto", {"quantization_config": {"kv_cache_scheme": {"num_bits": 8}}}, "fp8 cache"),
        ("auto", {"quantization_config": {"quant_method": "modelopt_fp4"}}, "hf_quant_config.json"),
    ],
)
def test_a_type_that_is_not_certain_is_said(kv_dtype, changes, said):
    found = kv_cache(model("llama-3.1-8b", **changes), Shape(version="0.5.9", kv_dtype=kv_dtype))
    assert not found.is_exact
    assert said in " ".join(found.inexact)


# Latent attention and its indexer.


def test_the_indexer_is_inside_the_size_in_0_5_9_and_0_5_10_only():
    per_token = {
        version: cache("deepseek-v3.2", 8, version, "bf16").bytes_per_token
        for version in ("0.5.8", "0.5.9", "0.5.10.post1", "0.5.11", "0.5.23")
    }
    assert per_token == {
        "0.5.8": 70272, "0.5.9": 78324, "0.5.10.post1": 78324, "0.5.11": 70272, "0.5.23": 70272,
    }  # fmt: skip


def test_what_the_gpu_decides_for_sparse_attention_is_said():
    assert "`auto` is fp8 on Blackwell" in cache("deepseek-v3.2", 8).inexact[0]
    assert "no flag names one" in cache("deepseek-v3.2", 8, kv_dtype="fp8_e4m3").inexact[0]


def test_an_fp8_store_of_sparse_attention_brings_its_scales_unless_trtllm_reads_it():
    flashmla = cache("deepseek-v3.2", 8, "0.5.11", "fp8_e4m3", dsa_backends=("flashmla_kv",))
    trtllm = cache("deepseek-v3.2", 8, "0.5.11", "fp8_e4m3", dsa_backends=("trtllm", "trtllm"))
    assert (flashmla.bytes_per_token, flashmla.inexact) == (656 * 61, ())
    assert (trtllm.bytes_per_token, trtllm.inexact) == (576 * 61, ())


def test_deepseek_v4_is_not_sized_by_the_flag():
    with pytest.raises(ValueError, match="refuses --hicache-size"):
        kv_cache(model("deepseek-v3", architectures=["DeepseekV4ForCausalLM"]), Shape(version="0.5.16"))


# Hybrid models: only attention over everything grows with each token.

FULL_LAYERS = {
    "qwen3-next-80b": (12, 2 * 512 * 2),
    "nemotron-h-8b": (4, 8 * 256 * 2),
    "falcon-h1-34b": (72, 4 * 256 * 2),
    "kimi-linear-48b": (7, 576 * 2),
}


@pytest.mark.parametrize("name", FULL_LAYERS)
def test_recurrent_layers_keep_no_tokens(name):
    layers, width = FULL_LAYERS[name]
    found = cache(name, version="0.5.16")
    assert (found.bytes_per_token, found.layers, found.inexact) == (layers * width, layers, ())


@pytest.mark.parametrize(
    ("name", "layers", "width"),
    [
        ("gpt-oss-120b", 18, 8 * 128 * 2),
        ("llama-4-scout", 12, 8 * 256 * 2),
        ("mimo-v2-flash", 9, 4 * 320 * 2),
    ],
)
def test_windows_with_a_pool_of_their_own_are_not_in_the_first(name, layers, width):
    found = cache(name, version="0.5.16")
    assert (found.bytes_per_token, found.inexact) == (layers * width, ())


def test_windows_of_other_models_keep_every_token():
    assert cache("gemma-3-27b", version="0.5.16").bytes_per_token == 16 * 256 * 62 * 2
    assert cache("gpt-oss-120b", version="0.5.6").bytes_per_token == 8 * 128 * 2 * 36
    assert cache("gpt-oss-120b", version="0.5.16", one_window_pool=True).bytes_per_token == 8 * 128 * 2 * 36


def test_a_release_that_nobody_read_is_not_vouched_for():
    assert not cache("gemma-3-27b", version="0.6.0").is_exact
    assert not cache("llama-3.1-8b", version="").is_exact


@pytest.mark.parametrize(
    ("name", "version", "said"),
    [
        ("qwen3-next-80b", "0.5.9", "does not take such a hybrid model before 0.5.10"),
        ("gpt-oss-120b", "0.5.11", "does not take such a hybrid model before 0.5.12"),
        ("qwen3-next-80b", "0.5.17", "split over its pools"),
    ],
)
def test_where_a_hybrid_models_tokens_are_not_exact_it_says_why(name, version, said):
    found = cache(name, version=version)
    assert said in " ".join(found.inexact)


@pytest.mark.parametrize(
    ("changes", "kinds"),
    [
        ({"layer_types": ["full_attention", "linear_attention"] * 2}, "FRFR"),
        ({"layers_block_type": ["mamba", "attention", "hybrid", "mamba"]}, "RFBR"),
        ({"attn_layer_indices": [1, 3]}, "RFRF"),
        ({"full_attn_idxs": [2]}, "RRFR"),
        ({"attn_layer_period": 2, "attn_layer_offset": 1}, "RFRF"),
        ({"layer_group_size": 4}, "RRRF"),
        ({"attn_type_list": [0, 1, 1, 0]}, "RFFR"),
        ({"hybrid_layer_pattern": [0, 1, 1, 0]}, "FSSF"),
        ({"local_layer_ids": [0, 1]}, "SSFF"),
        ({"layer_types": ["full_attention", "mystery", "moe", "conv"]}, "F?NR"),
        ({"layer_types": ["conv"]}, "RFFF"),
        ({}, "FFFF"),
    ],
)
def test_how_configurations_say_which_layer_is_what(changes, kinds):
    from fleetops.sizing.layers import BOTH, FULL, NONE, RECURRENT, SLIDING, layers_of

    found = layers_of(changes, 4)
    letters = {FULL: "F", SLIDING: "S", RECURRENT: "R", BOTH: "B", NONE: "N"}
    assert "".join(letters[kind] for kind in found.kinds) == kinds.replace("?", "F")
    assert found.unknown == (("mystery",) if "?" in kinds else ())


@pytest.mark.parametrize("field", ["block_configs", "num_kv_shared_layers", "loop_num", "global_head_dim"])
def test_models_with_odd_layers_are_not_vouched_for(field):
    assert not kv_cache(model("llama-3.1-8b", **{field: 1}), Shape(version="0.5.9")).is_exact


def test_longcat_has_two_attentions_a_layer():
    longcat = model(
        "deepseek-v3", architectures=["LongcatFlashForCausalLM"], num_hidden_layers=None, num_layers=28
    )
    assert kv_cache(longcat, Shape(version="0.5.9")).bytes_per_token == 56 * 1152


# Parallel sizes and drafts, from the flags.


def shape(flags, ranks=8, version="0.5.9"):
    return shape_of(flags, engine="sglang", version=version, ranks=ranks)


def test_a_pipeline_stage_keeps_its_own_layers():
    assert kv_cache(model("llama-3.1-70b"), shape({"tp": 8, "pp_size": 2}, 16)).bytes_per_token == 20480
    uneven = kv_cache(model("deepseek-v3"), shape({"tp": 8, "pp_size": 4}, 32))
    assert uneven.layers == 16
    assert "the one that keeps most" in uneven.inexact[0]


@pytest.mark.parametrize(
    ("flags", "tensor"),
    [
        ({}, 8),
        ({"tp": 4}, 4),
        ({"tensor_parallel_size": "2"}, 2),
        ({"tp_size": 8, "dp_size": 8, "enable_dp_attention": True}, 1),
        ({"tp_size": 8, "dp_size": 8}, 8),
        ({"tp_size": 8, "attn_cp_size": 2}, 4),
        ({"pp_size": 2}, 4),
    ],
)
def test_attention_divides_by_what_is_left_of_the_tensor_parallel_size(flags, tensor):
    assert shape(flags).tensor == tensor


def test_flags_are_read_by_each_of_their_names():
    found = shape(
        {"page_size": 64, "kv_cache_dtype": "FP8_E4M3", "speculative_algorithm": "eagle", "dtype": "half"}
    )
    assert (found.page, found.kv_dtype, found.speculative, found.dtype) == (64, "fp8_e4m3", "EAGLE", "half")
    assert shape({"block_size": "16"}).page == 16
    assert shape({"page_size": True}).page is None


def test_a_draft_of_the_models_own_is_packed_into_the_pool_from_0_5_18():
    own = {"tp": 8, "speculative_algorithm": "EAGLE"}
    assert kv_cache(model("deepseek-v3"), shape(own, version="0.5.17")).layers == 61
    assert kv_cache(model("deepseek-v3"), shape(own, version="0.5.18")).layers == 62


def test_decode_context_parallelism_is_not_vouched_for():
    assert not kv_cache(model("deepseek-v3"), replace(Shape(version="0.5.23"), decode_context=2)).is_exact


@given(
    gigabytes=st.integers(min_value=1, max_value=2000),
    per_token=st.integers(min_value=1000, max_value=200_000),
    page=st.sampled_from([1, 16, 64, 128]),
)
def test_a_pool_is_whole_pages_and_off_by_one_page_at_most(gigabytes, per_token, page):
    old = host_pool(gigabytes, per_token, page=page, version="0.5.4")
    new = host_pool(gigabytes, per_token, page=page, version="0.5.9")
    assert old.tokens % page == 0
    assert old.size_bytes <= gigabytes * 10**9 < new.size_bytes
    assert new.tokens - old.tokens == page


ORDER = [
    "0.4.5.post3",
    "0.4.10",
    "0.5.5.dev1",
    "0.5.5rc1",
    "0.5.5",
    "0.5.5.post2",
    "0.5.5.post3",
    "0.5.5.1",
    "0.5.6",
    "0.5.10",
    "0.5.10.post1",
    "0.5.11",
    "1.0",
]


def test_releases_sort_as_they_came():
    assert sorted(ORDER, key=release_key) == ORDER


@pytest.mark.parametrize(("one", "same"), [("0.5.9", "v0.5.9"), ("0.5.9", "0.5.9+cu124"), ("0.5", "0.5.0")])
def test_spellings_of_one_release(one, same):
    assert release_key(one) == release_key(same)


@pytest.mark.parametrize("text", ["", "main", "+cpu"])
def test_what_is_no_version_is_refused(text):
    with pytest.raises(ValueError, match="not a version"):
        at_least(text, "0.5.9")


def test_a_model_without_attention_keeps_no_tokens():
    with pytest.raises(ValueError, match="no layer of the model keeps"):
        kv_cache(model("llama-3.1-8b", attn_layer_indices=[]), Shape(version="0.5.16"))
