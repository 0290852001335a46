"""The whole answer, from what is given: verdict, what fits, tokens, and what is said where a number is missing."""

from dataclasses import replace

import pytest
from sizing_cases import ALONE, THERE, model, profile, proof

from fleetops.model.exit import Exit
from fleetops.model.fleet import AUTO, Flag
from fleetops.sizing.answer import answer
from fleetops.sizing.budget import Room, Rooms
from fleetops.sizing.question import Question

SIZE = Flag(name="hicache_size", value=300, unit="GB", scope="per-rank")
PAGE = Flag(name="page_size", value=64)
ROOMS = Rooms(rooms=(Room(label="MemAvailable of node-174", size_bytes=THERE),))


def answered(*flags, explanation=None, config="deepseek-v3", ranks=8, beside=(), changed=None, **fields):
    flags = flags or (SIZE,)
    explanation = explanation or proof(flags[0].name)
    return answer(
        Question(
            **{
                "profile": profile(ranks=ranks, engine=explanation.engine, flags=(*flags, *beside)),
                "flags": flags,
                "flag": flags[0].name,
                "explanations": {explanation.flag: explanation},
                "rooms": ROOMS,
                "ranks": ranks,
                "config": model(config) if config else None,
                "available_bytes": THERE,
                **fields,
                **(changed or {}),
            }
        )
    )


def test_the_incident_does_not_fit_and_48_would():
    found = answered(beside=(PAGE,))
    assert (found.verdict, found.exit_code, found.asked) == ("does-not-fit", Exit.REFUSED, 300)
    assert (found.size.total_bytes, found.size.fits) == (2400 * 10**9, 48)
    assert (found.pool.tokens, found.fitting.tokens, found.is_exact) == (4269184, 683072, True)


def test_what_is_left_to_fleetops_is_answered_with_what_fits():
    found = answered(replace(SIZE, value=AUTO), beside=(PAGE,))
    assert (found.verdict, found.exit_code, found.asked) == ("fits", Exit.FINE, None)
    assert (found.size.fits, found.pool.tokens, found.fitting) == (48, 683072, None)


def test_a_page_that_nobody_states_is_exact_to_a_page_only():
    found = answered()
    assert not found.is_exact
    assert "the page size is not stated: counted with 1" in found.kv.inexact[-1]
    sparse = answered(explanation=proof(version="0.5.11"), config="deepseek-v3.2")
    assert "counted with 64" in sparse.kv.inexact[-1]


# What is not proven.


@pytest.mark.parametrize(
    ("explanation", "said"),
    [
        (
            proof(verdict="unproven", unproven_because="srt/x.py:7: a factory"),
            "is not proven: srt/x.py:7: a factory",
        ),
        (proof(verdict="no-such-flag", unproven_because="no flag of that name"), "no flag of that name"),
        (proof(verdict="no-such-flag"), "this release has no flag hicache_size"),
        (proof("cpu_offload_gb"), "was not read from source"),
    ],
)
def test_without_a_proof_nothing_is_vouched_for(explanation, said):
    """The arithmetic is shown as the profile states it, and the verdict stays open, also where it is too much."""
    found = answered(explanation=explanation)
    assert (found.verdict, found.exit_code) == ("unproven", Exit.UNKNOWN)
    assert said in found.reasons[0]
    assert found.size.total_bytes == 2400 * 10**9
    assert not found.size.meaning.proven


def test_another_flag_that_is_not_proven_keeps_the_verdict_open():
    offload = Flag(name="cpu_offload_gb", value=4, unit="GiB", scope="per-rank")
    lost = proof("cpu_offload_gb", verdict="unproven", unproven_because="lost")
    found = answered(SIZE, offload, explanations={"hicache_size": proof(), "cpu_offload_gb": lost})
    assert found.verdict == "unproven"


def test_zero_leaves_it_to_the_ratio():
    found = answered(replace(SIZE, value=0))
    assert (found.asked, found.pool) == (0, None)
    assert (found.verdict, found.notes) == ("unproven", ())
    assert "hicache_ratio" in found.doubts[0]


def test_what_is_available_must_be_known():
    nowhere = Rooms(rooms=(), unknown=("how much memory is available",))
    found = answered(rooms=nowhere, available_bytes=None)
    assert (found.verdict, found.size.fits) == ("unproven", None)
    assert found.reasons == ("how much memory is available is not known",)


def test_a_profile_that_says_otherwise_is_told():
    found = answered(replace(SIZE, scope="total"))
    assert found.size.total_bytes == 2400 * 10**9
    assert found.notes == (
        "the profile says hicache_size is GB total, and the source says GB per rank: a launch refuses that",
    )
    assert found.contradicted == ("hicache_size",)
    assert answered(replace(SIZE, unit=None, scope=None)).contradicted == ()


# Flags of other units and scopes.


def test_a_total_is_not_multiplied_by_ranks():
    """vLLM's kv_offloading_size, in GiB."""
    flag = Flag(name="kv_offloading_size", value=300)
    total = proof(flag.name, "0.33.0", engine="vllm", unit="GiB", scope="total", check=None)
    found = answered(
        flag, explanation=total, config="llama-3.1-70b", beside=(Flag(name="block_size", value=16),)
    )
    assert found.size.total_bytes == 300 * 2**30
    assert (found.verdict, found.size.fits) == ("fits", 362)
    assert (found.pool.tokens, found.is_exact) == (300 * 2**30 // (40960 * 16 * 8) * 16, True)
    assert found.notes[0].endswith("1.92 times as much (vllm issue 53042): 618 GB, 229 GB more than there is")


def test_where_fleetops_chooses_what_was_seen_in_the_field_fits_as_well():
    flag = Flag(name="kv_offloading_size", value=AUTO)
    total = proof(flag.name, "0.33.0", engine="vllm", unit="GiB", scope="total", check=None)
    found = answered(flag, explanation=total)
    assert (found.size.value, found.size.fits) == (int(362 / 1.92), 362)
    assert found.notes[0].endswith("which fits as well")


def test_offloaded_weights_are_taken_by_each_rank_and_seen_to_take_more():
    flag = Flag(name="cpu_offload_gb", value=10)
    each = proof(flag.name, "0.33.0", engine="vllm", unit="GiB", scope="per-rank", check=None)
    found = answered(flag, explanation=each)
    assert found.size.total_bytes == 8 * 10 * 2**30
    assert "1.9 times as much (vllm issue 56410)" in found.notes[0]


def test_what_a_connector_is_given_is_said_not_to_be_counted():
    flag = Flag(name="kv_offloading_size", value=3)
    total = proof(flag.name, "0.33.0", engine="vllm", unit="GiB", scope="total")
    beside = (Flag(name="kv_transfer_config", value='{"kv_connector": "X"}'),)
    assert any(
        "kv_transfer_config" in note for note in answered(flag, explanation=total, beside=beside).notes
    )


def test_vllms_lmcache_backend_does_not_pass_it_on_from_0_27_1():
    flag = Flag(name="kv_offloading_size", value=3)
    backend = (Flag(name="kv_offloading_backend", value="lmcache"),)
    for version, told in (("0.20.0", False), ("0.27.1", True)):
        total = proof(flag.name, version, engine="vllm", unit="GiB", scope="total")
        found = answered(flag, explanation=total, beside=backend)
        assert any("LMCache's own server" in note for note in found.notes) is told


def test_offloaded_weights_hold_no_tokens():
    flag = Flag(name="cpu_offload_gb", value=40)
    found = answered(flag, explanation=proof(flag.name, unit="GiB", check=None))
    assert found.size.total_bytes == 8 * 40 * 2**30
    assert (found.kv, found.pool) == (None, None)


RATIO = Flag(name="hicache_ratio", value=2.0)
BY_RATIO = proof("hicache_ratio", unit="ratio", default=2.0)


def test_a_ratio_needs_the_device_tokens():
    found = answered(RATIO, explanation=BY_RATIO, beside=(PAGE,))
    assert found.verdict == "unproven"
    assert "--device-tokens N" in found.reasons[0]


def test_a_ratio_of_known_device_tokens_has_bytes():
    found = answered(RATIO, explanation=BY_RATIO, beside=(PAGE,), device_tokens=116171)
    assert found.size.total_bytes == 8 * 2 * 116171 * 70272
    assert (found.verdict, found.size.fits, found.pool.tokens) == ("fits", 5, 232384)


@pytest.mark.parametrize(
    ("explanation", "fields", "said"),
    [
        (BY_RATIO, {"config": None}, "--model-config FILE"),
        (BY_RATIO, {"config": "qwen3-next-80b", "device_tokens": 9}, "all its device pools"),
        (proof("hicache_ratio", unit="fraction"), {"available_bytes": None}, "--available gives it"),
        (proof("hicache_ratio", unit="fraction"), {}, "what it is a fraction of is not known"),
    ],
)
def test_the_number_that_is_missing_is_named(explanation, fields, said):
    found = answered(RATIO, explanation=explanation, **fields)
    assert found.verdict == "unproven"
    assert said in found.reasons[0]


def test_a_fraction_of_the_hosts_memory_is_of_what_the_engine_leaves():
    flag = Flag(name="hicache_host_memory_fraction", value=0.8)
    shared = proof(flag.name, "0.5.23", unit="fraction", scope="per-node", check=None)
    found = answered(flag, explanation=shared)
    assert found.size.total_bytes == pytest.approx(0.8 * (THERE - 10 * 2**30), abs=1)
    assert found.verdict == "fits"


def test_tokens_and_blocks_are_counted_with_the_models_own_bytes():
    flag = Flag(name="host_tokens", value=1000)
    assert answered(flag, explanation=proof(flag.name, unit="tokens")).size.total_bytes == 8 * 1000 * 70272
    blocks = answered(flag, explanation=proof(flag.name, unit="blocks"), beside=(PAGE,))
    assert blocks.size.total_bytes == 8 * 1000 * 64 * 70272


# Models.


def test_without_a_model_the_bytes_are_sized_and_the_tokens_are_not():
    found = answered(config=None)
    assert (found.verdict, found.kv, found.pool) == ("does-not-fit", None, None)


def test_a_model_that_cannot_be_counted_is_said():
    found = answered(config=None, changed={"config": {"model_type": "mystery"}})
    assert found.kv is None
    assert "no usable num_hidden_layers" in found.notes[0]


def test_a_hybrid_model_takes_twice_what_is_asked():
    found = answered(
        explanation=proof(version="0.5.13", simultaneous=2), config="qwen3-next-80b", beside=(PAGE,)
    )
    assert (found.size.meaning.pools, found.size.total_bytes, found.size.fits) == (2, 4800 * 10**9, 24)


def test_the_indexers_pool_is_a_line_of_its_own():
    fp8 = Flag(name="kv_cache_dtype", value="fp8_e4m3")
    found = answered(
        replace(SIZE, value=150),
        explanation=proof(version="0.5.11"),
        config="deepseek-v3.2",
        ranks=4,
        beside=(fp8,),
    )
    assert [line.size_bytes for line in found.budget.beside] == [4 * 34_375_000_000]


def test_the_engines_check_is_foreseen():
    found = answered(device_tokens=116171)
    assert found.window.lets_pass(300)
    assert found.window.above == pytest.approx(8.16, abs=0.01)
    assert answered(explanation=proof(check=None)).window is None
    assert answered(explanation=proof(check=replace(ALONE, sound=True))).window.lets_pass(300) is False


def test_a_profile_without_such_flags_still_leaves_reserve_and_floor():
    found = answer(Question(profile=profile(), flags=(), flag=None, explanations={}, rooms=ROOMS, ranks=8))
    assert (found.verdict, found.flag, found.size) == ("fits", None, None)


def test_a_default_that_acts_by_itself_is_told():
    flag = Flag(name="swap_space", value=AUTO)
    swap = proof(flag.name, "0.8.5", engine="vllm", unit="GiB", default=4, check=None)
    found = answered(flag, explanation=swap, profile=profile(engine="vllm"))
    assert found.notes == ("left out, the engine takes its default: 4 GiB",)


def test_a_stated_meaning_alone_has_no_proof():
    assert not answered(explanations={}).size.meaning.proven
