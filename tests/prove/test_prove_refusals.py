"""What may be launched as proofs go: every way to refuse, what is shown beside it, and what a waiver goes on with."""

from dataclasses import replace

import pytest
from node_scenes import profile
from proof_scenes import ARITHMETIC, asking, launching, proven, unproven

from fleetops.model.fleet import Flag
from fleetops.model.plan import PlannedStep
from fleetops.model.proof import Explanation
from fleetops.steps import all_steps
from fleetops.steps.support.base import Situation
from fleetops.steps.support.launching import budget_for, launch_values

NO_SUCH = Explanation(
    flag="hicache_size", engine="sglang", version="0.4.4", verdict="no-such-flag", notes=("did you mean hicache_ratio?",)
)  # fmt: skip


def planned(situation: Situation, step: str = "prove") -> PlannedStep:
    found = all_steps()[step]
    return found.plan(situation, found.settle({}))


def test_what_is_proven_as_stated_is_launched():
    step = planned(launching(asking(), proven()))
    assert step.blocked == ""
    assert step.detail == "hicache_size: GB per rank, proven"


@pytest.mark.parametrize(("unit", "scope"), [(None, None), ("GB", None), (None, "per-rank")])
def test_a_profile_need_not_state_what_is_proven(unit, scope):
    situation = launching(asking(48, unit, scope), proven())
    assert planned(situation).blocked == ""
    assert budget_for(situation).asked_bytes == 8 * 48 * 10**9


@pytest.mark.parametrize(
    ("stated", "shown"),
    [
        ({"scope": "total"}, "GB total"),
        ({"unit": "GiB"}, "GiB per rank"),
        ({"unit": "GiB", "scope": "per-node"}, "GiB per node"),
        ({"unit": None, "scope": "total"}, "total"),
    ],
)
def test_a_profile_that_says_otherwise_is_refused_with_both_beside_each_other(stated, shown):
    step = planned(launching(asking(**stated), proven()))
    assert step.guard == "proof"
    assert f"profile hicache48 says {shown}\n" in step.blocked
    assert "SGLang 0.5.9 on node-174 says GB per rank" in step.blocked
    assert "srt/server_args.py:530" in step.blocked
    assert f"srt/mem_cache/memory_pool_host.py:159  {ARITHMETIC}    x 1e9: GB" in step.blocked
    assert "unit: GB, scope: per-rank" in step.mend


def test_a_refusal_reads_as_one_block_and_ends_with_the_command_to_type():
    step = planned(launching(asking(scope="total"), proven()))
    assert "" not in step.blocked.splitlines()
    assert "then `fleetops launch --profile hicache48 node-174`" in step.mend


def test_the_last_line_of_a_refusal_says_it_all():
    last = planned(launching(asking(scope="total"), proven())).blocked.splitlines()[-1]
    assert last.strip() == "hicache_size is GB per rank, and the profile says GB total"


def test_what_is_not_proven_is_refused_with_the_place_where_the_trail_was_lost():
    step = planned(launching(asking(), unproven()))
    assert step.guard == "proof"
    assert "srt/pools.py:12 calls what cannot be followed" in step.blocked
    assert "fleetops explain hicache_size node-174" in step.mend
    assert "fleetops launch --profile hicache48 node-174 --waive proof=" in step.mend


def test_a_flag_that_the_release_does_not_have_is_refused_with_the_nearest():
    step = planned(launching(asking(), NO_SUCH))
    assert step.guard == "proof"
    assert "SGLang 0.4.4 on node-174 has no flag hicache_size; did you mean hicache_ratio?" in step.blocked


def test_a_proof_that_is_missing_among_others_is_refused():
    flags = (*asking().flags, Flag(name="cpu_offload_gb", value=10, unit="GiB", scope="per-rank"))
    step = planned(launching(asking(flags=flags), proven()))
    assert step.guard == "proof"
    assert "cpu_offload_gb" in step.blocked


def test_all_objections_are_told_at_once():
    flags = (*asking(scope="total").flags, Flag(name="cpu_offload_gb", value=10))
    step = planned(launching(asking(flags=flags), proven(), unproven("cpu_offload_gb")))
    assert "hicache_size is GB per rank" in step.blocked
    assert "what cpu_offload_gb means" in step.blocked


def test_another_engines_flag_is_refused_by_what_the_source_says():
    sglangs = (Flag(name="kv_offloading_size", value=48, unit="GB", scope="per-rank"),)
    vllm = profile(name="offload", engine="vllm", flags=sglangs)
    found = proven("kv_offloading_size", engine="vllm", version="0.20.0", unit="GiB", scope="total")
    step = planned(launching(vllm, found))
    assert step.guard == "proof"
    assert "profile offload says GB per rank" in step.blocked
    assert "vLLM 0.20.0 on node-174 says GiB total" in step.blocked


def test_a_size_that_is_no_flag_of_this_engine_is_looked_for_in_its_source_too():
    flags = (Flag(name="kv_offloading_size", value=48, unit="GiB", scope="total"),)
    absent = replace(NO_SUCH, flag="kv_offloading_size", notes=())
    step = planned(launching(profile(flags=flags), absent))
    assert "has no flag kv_offloading_size" in step.blocked


def test_what_acts_by_its_default_is_no_claim_of_the_profile():
    flags = (Flag(name="enable_hierarchical_cache", value=True),)
    found = proven("hicache_ratio", unit="fraction", scope="per-rank")
    assert planned(launching(profile(flags=flags), found)).blocked == ""


def test_a_profile_without_host_memory_needs_no_proof():
    step = planned(launching(profile(flags=(Flag(name="mem_fraction_static", value=0.88),))))
    assert step.skip == "no flag of hicache48 takes host memory"


def test_a_plan_that_starts_nothing_asks_for_no_proof():
    assert planned(launching(asking())).blocked == ""


WAIVED = {"proof": "read by hand"}


def test_a_waived_contradiction_goes_on_with_what_the_profile_states_and_is_named():
    situation = launching(asking(48, "GB", "total"), proven(), waived=WAIVED)
    step = planned(situation)
    assert step.blocked == ""
    assert "waived: read by hand" in step.detail
    assert budget_for(situation).asked_bytes == 48 * 10**9
    assert not budget_for(situation).sizes[0].meaning.proven


def test_a_waived_proof_with_nothing_stated_cannot_be_sized():
    situation = launching(asking(48, None, None), unproven(), waived=WAIVED)
    assert planned(situation).blocked == ""
    size = planned(situation, "size")
    assert size.guard == "size"
    assert "unit and scope are wanted" in size.blocked


def test_with_both_waived_even_that_is_launched_and_both_are_named():
    both = {**WAIVED, "size": "an empty machine"}
    situation = launching(asking(48, None, None), unproven(), waived=both)
    assert planned(situation).blocked == planned(situation, "size").blocked == ""
    assert "waived: an empty machine" in planned(situation, "size").detail
    assert launch_values(situation) == {"hicache_size": 48}


def test_a_waiver_that_is_not_needed_changes_nothing():
    situation = launching(asking(48, None, None), proven(), waived=WAIVED)
    assert budget_for(situation).asked_bytes == 8 * 48 * 10**9


def test_auto_takes_what_is_proven_not_what_is_stated():
    assert launch_values(launching(asking("auto", None, None), proven())) == {"hicache_size": 48}
    assert launch_values(launching(asking("auto", None, None), proven(scope="total"))) == {
        "hicache_size": 389
    }


def test_pools_that_take_the_value_twice_count_twice():
    situation = launching(asking(48, None, None), proven(simultaneous=2))
    assert budget_for(situation).asked_bytes == 2 * 8 * 48 * 10**9


def test_the_size_says_what_it_rests_on():
    assert "(hicache_size: GB per rank, proven)" in planned(launching(asking(), proven()), "size").detail
    assert (
        "not proven, the profile says GB per rank" in planned(launching(asking(), unproven()), "size").detail
    )


def test_a_size_that_does_not_fit_is_refused_with_the_proof_the_arithmetic_and_the_command():
    step = planned(launching(asking(300), proven()), "size")
    assert step.guard == "size"
    assert ARITHMETIC in step.blocked
    assert "hicache_size is GB per rank, proven from SGLang 0.5.9" in step.blocked
    assert "2,400 GB" in step.blocked
    assert "48 fits" in step.blocked.splitlines()[-1]
    assert "fleetops launch --profile hicache48 node-174" in step.mend


def test_an_engine_that_is_only_read_is_not_launched():
    stated = (Flag(name="max_local_cpu_size", value=48, unit="GiB", scope="per-rank"),)
    lmcache = profile(engine="lmcache", flags=stated)
    found = proven("max_local_cpu_size", engine="lmcache", unit="GiB")
    situation = launching(lmcache, found)
    assert planned(situation).blocked == ""
    with pytest.raises(Exception, match="does not launch yet"):
        planned(situation, "size")


def test_what_is_stated_in_bytes_counts_though_the_engine_is_not_known_to_take_it():
    flags = (*asking().flags, Flag(name="extra_pool_gb", value=5, unit="GB", scope="per-node"))
    extra = proven("extra_pool_gb", scope="per-node")
    situation = launching(asking(flags=flags), proven(), extra)
    assert budget_for(situation).asked_bytes == 8 * 48 * 10**9 + 5 * 10**9


def by_ratio(**known) -> Situation:
    flags = (Flag(name="enable_hierarchical_cache", value=True), Flag(name="hicache_ratio", value=2.0))
    llama = {"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128}
    found = proven("hicache_ratio", unit="ratio")
    return launching(profile(flags=flags), found, model_config=llama, **known)


def test_a_ratio_is_sized_by_what_the_last_launch_of_the_profile_has_shown():
    sized = budget_for(by_ratio(device_tokens=100_000))
    assert sized.asked_bytes == 8 * 2 * 100_000 * (2 * 128 * 32 * 2)  # one KV head a rank, bf16
    assert planned(by_ratio(device_tokens=100_000), "size").blocked == ""


def test_a_ratio_of_which_nothing_is_known_cannot_be_sized():
    assert "hicache_ratio counts in ratio" in planned(by_ratio(), "size").blocked
