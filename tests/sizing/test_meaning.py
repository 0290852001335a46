"""From a proof to a meaning: how often this model takes the number, and what comes on top of it."""

from dataclasses import replace
from fractions import Fraction

import pytest
from sizing_cases import KV_POOL, model, proof

from fleetops.model.proof import Place, Pool
from fleetops.sizing.meaning import meaning_of
from fleetops.sizing.shape import Shape

KV = KV_POOL
MAMBA = Pool(
    file="srt/mem_cache/memory_pool_host.py", line=1222, name="MambaPoolHost", when="hybrid Mamba models"
)
PLAIN = ("llama-3.1-70b", "deepseek-v3", "gemma-3-27b")


def meant(explanation, name=None, **shape):
    config = model(name) if name else None
    return meaning_of(explanation, model_config=config, shape=Shape(**shape))


def test_unit_and_scope_are_the_proofs_and_the_place_is_named():
    found = meant(proof(), "llama-3.1-70b")
    assert (found.unit, found.scope, found.pools, found.proven) == ("GB", "per-rank", 1, True)
    assert found.why == "proven: srt/mem_cache/memory_pool_host.py:159"
    assert found.beside == ()


@pytest.mark.parametrize("verdict", ["unproven", "no-such-flag"])
def test_what_is_not_proven_has_no_meaning(verdict):
    lost = proof(verdict=verdict, unproven_because="srt/a.py:7: the trail is lost")
    found = meant(lost, "llama-3.1-70b")
    assert (found.unit, found.scope, found.proven) == (None, None, False)
    assert found.why == "srt/a.py:7: the trail is lost"


def test_a_proof_of_an_unknown_unit_has_none():
    assert meant(proof(unit="unknown", scope="unknown")).unit is None


# Pools: hybrid models took it twice from 0.5.10 on, and with both kinds three times in 0.5.16.

TWICE = proof(version="0.5.13", pools=(KV, MAMBA), simultaneous=2)
THRICE = proof(version="0.5.16", pools=(KV, MAMBA), simultaneous=3)
SPLIT = proof(
    version="0.5.17", pools=(replace(KV, share="part"), replace(MAMBA, share="part")), simultaneous=1
)


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("explanation", [TWICE, THRICE, SPLIT], ids=["0.5.13", "0.5.16", "0.5.17"])
def test_a_plain_model_takes_it_once_in_every_release(explanation, name):
    assert meant(explanation, name).pools == 1


@pytest.mark.parametrize(
    ("explanation", "name", "pools"),
    [
        (TWICE, "qwen3-next-80b", 2),
        (TWICE, "gpt-oss-120b", 2),
        (THRICE, "nemotron-h-8b", 2),
        (THRICE, "falcon-h1-34b", 2),
        (THRICE, "gpt-oss-120b", 2),
        (SPLIT, "qwen3-next-80b", 1),
    ],
)
def test_a_hybrid_model_takes_it_once_for_each_kind_of_layer(explanation, name, pools):
    found = meant(explanation, name)
    assert found.pools == pools
    assert ("layers take it as well" in found.why) == (pools > 1)


def test_windows_and_states_in_one_model_take_it_three_times():
    both = model("gpt-oss-120b", layer_types=["sliding_attention", "full_attention", "mamba"] * 12)
    assert meaning_of(THRICE, model_config=both).pools == 3


def test_an_unknown_model_is_counted_at_its_worst():
    found = meant(THRICE)
    assert found.pools == 3
    assert "3 pools, as the model is not known" in found.why


def test_a_config_that_tells_nothing_is_counted_at_its_worst():
    found = meaning_of(THRICE, model_config={})
    assert found.pools == 3
    assert "no usable num_hidden_layers" in found.why


def test_a_source_that_always_builds_two_pools_takes_it_twice_for_every_model():
    patched = proof(pools=(KV, replace(KV, line=200)), simultaneous=2)
    assert meant(patched, "llama-3.1-70b").pools == 2


# On top of it: indexers and drafts.


def labels(found):
    return {pool.label.split()[0]: pool.share for pool in found.beside}


@pytest.mark.parametrize(
    ("version", "kv_dtype", "share"),
    [
        ("0.5.10.post1", "auto", None),
        ("0.5.11", "bf16", Fraction(132, 1152)),
        ("0.5.11", "fp8_e4m3", Fraction(132, 576)),
        ("0.5.11", "auto", Fraction(132, 576)),
        ("0.5.23", "auto", Fraction(132, 576)),
        ("", "auto", Fraction(132, 576)),
    ],
)
def test_the_indexers_pool_comes_on_top_from_0_5_11(version, kv_dtype, share):
    """150 GB with an fp8 store brought 34.38 GB (sglang PR #29263); a type that is not settled counts at its worst."""
    found = labels(meant(proof(version=version), "deepseek-v3.2", kv_dtype=kv_dtype))
    assert found == ({"DSA": share} if share else {})


def test_a_model_without_an_indexer_brings_none():
    assert meant(proof(version="0.5.11"), "deepseek-v3").beside == ()


@pytest.mark.parametrize(
    ("version", "speculative", "share"),
    [
        ("0.5.10", "EAGLE", None),
        ("0.5.11", "EAGLE", Fraction(1, 61)),
        ("0.5.17", "NEXTN", Fraction(1, 61)),
        ("0.5.18", "EAGLE", None),
        ("0.5.11", "NGRAM", None),
        ("0.5.11", "", None),
    ],
)
def test_a_draft_of_the_models_own_comes_on_top_until_it_is_packed(version, speculative, share):
    found = labels(meant(proof(version=version), "deepseek-v3", speculative=speculative))
    assert found == ({"draft": share} if share else {})


def test_a_draft_model_of_its_own_needs_its_config():
    shape = Shape(speculative="EAGLE3", draft="/models/draft", tensor=8)
    target, draft = model("llama-3.1-70b"), model("llama-3.1-8b", num_hidden_layers=1)
    known = meaning_of(proof(version="0.5.11"), model_config=target, shape=shape, draft_config=draft)
    assert labels(known) == {"draft": Fraction(1, 80)}
    assert labels(meaning_of(proof(version="0.5.11"), model_config=target, shape=shape)) == {"draft": None}


def test_other_flags_and_engines_bring_no_pools_on_top():
    assert meant(proof("cpu_offload_gb", "0.5.11", unit="GiB"), "deepseek-v3.2").beside == ()
    assert meant(proof("kv_offloading_size", "0.33.0", engine="vllm"), "deepseek-v3.2").beside == ()


def test_without_pools_the_arithmetics_own_line_is_named():
    place = Place(file="config/vllm.py", line=502, text="size * (1 << 30)", role="arithmetic")
    assert meant(proof(pools=(), proof=(place,))).why == "proven: config/vllm.py:502"
