"""KV-cache arithmetic against numbers had by running SGLang's own classes, release by release (exact to the token)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetops.sizing.kv import HostPool, bytes_per_token, host_pool, host_pool_by_ratio
from fleetops.sizing.releases import at_least, release_key

LLAMA_8B = {"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096}
LLAMA_70B = {"num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128}
QWEN_32B = {"num_hidden_layers": 64, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 128}
DEEPSEEK_V3 = {
    "num_hidden_layers": 61,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "num_attention_heads": 128,
}
DEEPSEEK_V32 = {**DEEPSEEK_V3, "index_head_dim": 128}

OLD, NEW = ("0.4.8", "0.5.4"), ("0.5.5.post3", "0.5.9", "0.5.13", "0.5.23")


@pytest.mark.parametrize(
    ("config", "tensor_parallel", "per_token"),
    [
        (LLAMA_8B, 1, 131072),
        (LLAMA_70B, 8, 40960),
        (QWEN_32B, 4, 65536),
        (DEEPSEEK_V3, 1, 70272),
        (DEEPSEEK_V3, 8, 70272),
    ],
)
@pytest.mark.parametrize("version", [*OLD, *NEW])
def test_bytes_of_a_token_on_one_rank(config, tensor_parallel, per_token, version):
    assert (
        bytes_per_token(config, tensor_parallel=tensor_parallel, element_bytes=2, version=version)
        == per_token
    )


@pytest.mark.parametrize(
    ("versions", "per_token", "gigabytes", "page", "tokens", "size_bytes"),
    [
        (OLD, 131072, 2, 1, 15258, 1999896576),
        (NEW, 131072, 2, 1, 15259, 2000027648),
        (OLD, 40960, 48, 64, 1171840, 47998566400),
        (NEW, 40960, 48, 64, 1171904, 48001187840),
        (OLD, 65536, 3, 64, 45760, 2998927360),
        (NEW, 65536, 3, 64, 45824, 3003121664),
        (OLD, 70272, 48, 64, 683008, 47996338176),
        (NEW, 70272, 48, 64, 683072, 48000835584),
        (OLD, 70272, 300, 1, 4269125, 299999952000),
        (NEW, 70272, 300, 1, 4269126, 300000022272),
        (("0.5.9",), 131072, 1, 64, 7680, 1006632960),
        (("0.5.9",), 70272, 1, 64, 14272, 1002921984),
        (("0.5.9",), 20480, 1, 64, 48832, 1000079360),
    ],
)
def test_tokens_and_bytes_of_a_pool(versions, per_token, gigabytes, page, tokens, size_bytes):  # noqa: PLR0917 - a row
    for version in versions:
        assert host_pool(gigabytes, per_token, page=page, version=version) == HostPool(
            tokens=tokens, size_bytes=size_bytes
        )


def test_a_ratio_multiplies_the_device_pool():
    assert host_pool_by_ratio(2.0, 100, 131072, page=16, version="0.5.9") == HostPool(
        tokens=208, size_bytes=27262976
    )


def test_the_indexer_is_inside_the_size_up_to_0_5_10_and_apart_from_0_5_11():
    assert bytes_per_token(DEEPSEEK_V32, tensor_parallel=8, element_bytes=2, version="0.5.9") == 78324
    assert host_pool(48, 78324, page=64, version="0.5.9").tokens == 612864
    assert bytes_per_token(DEEPSEEK_V32, tensor_parallel=8, element_bytes=2, version="0.5.11") == 70272


def test_an_fp8_store_takes_one_byte_and_a_pipeline_stage_its_own_layers():
    assert bytes_per_token(LLAMA_70B, tensor_parallel=8, element_bytes=1, version="0.5.9") == 20480
    assert bytes_per_token(LLAMA_70B, tensor_parallel=8, element_bytes=2, version="0.5.9", layers=40) == 20480


def test_values_narrower_than_keys_are_counted_from_0_5_23():
    config = {**QWEN_32B, "head_dim": 192, "v_head_dim": 128}
    assert bytes_per_token(config, tensor_parallel=4, element_bytes=2, version="0.5.9") == 2 * 384 * 64 * 2
    assert bytes_per_token(config, tensor_parallel=4, element_bytes=2, version="0.5.23") == 2 * 320 * 64 * 2


def test_more_ranks_than_heads_keep_one_head_each():
    assert bytes_per_token(QWEN_32B, tensor_parallel=16, element_bytes=2, version="0.5.9") == 32768


def test_a_multimodal_models_text_part_counts():
    assert (
        bytes_per_token({"text_config": QWEN_32B}, tensor_parallel=4, element_bytes=2, version="0.5.9")
        == 65536
    )


def test_a_config_that_lacks_a_field_is_refused_by_name():
    with pytest.raises(ValueError, match="no usable num_hidden_layers"):
        bytes_per_token({"kv_lora_rank": 512}, tensor_parallel=1, element_bytes=2, version="0.5.9")


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
