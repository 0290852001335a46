"""Does it fit? The incident's numbers, and what may not be said when something is unknown."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetops.model.fact import Facts, Gap, Missing
from fleetops.model.finding import Baseline, Observation
from fleetops.model.fleet import AUTO, Flag, Guest, HostMemory, Node, Profile
from fleetops.model.guest import ARC, Arc
from fleetops.model.kv import Beside
from fleetops.model.machine import CGROUP, MEMORY, CgroupMemory, Memory
from fleetops.model.units import GB, GIB
from fleetops.sizing.budget import Meaning, Room, Rooms, Verdict, budget, rooms

FREE = Rooms(rooms=(Room(label="MemAvailable of node-174", size_bytes=445 * GB),))


def size(value, **fields):
    return Flag(name="hicache_size", value=value, **{"unit": "GB", "scope": "per-rank", **fields})


def profile(ranks=8, **fields):
    return Profile(
        name="hicache48", engine="sglang", model="/models/example", ranks=ranks, port=30000, **fields
    )


def asked(*flags, found=FREE, ranks=8, **more):
    return budget(profile(ranks), found, flags=flags, **more)


def test_the_golden_case_takes_48_where_auto_is_asked():
    """449e9 total, 445e9 available, reserve 40e9, floor 16e9, 8 ranks."""
    fit = asked(size(AUTO))
    assert fit.values == {"hicache_size": 48}
    assert fit.verdict is Verdict.FITS
    assert fit.asked_bytes == 384 * GB


def test_the_incident_asks_2400_gb_and_is_told_what_fits():
    too_much = asked(size(300))
    assert too_much.verdict is Verdict.TOO_MUCH
    assert too_much.asked_bytes == 2400 * GB
    assert too_much.summary == "8 x 300 GB = 2,400 GB asked, 445 GB available; 48 fits"
    assert too_much.left_bytes == (445 - 2400 - 40 - 16) * GB


def test_the_arithmetic_is_said_line_by_line():
    assert asked(size(300)).explain() == (
        "hicache_size         8 x 300 GB  2,400 GB  GB per rank, as the profile states, not proven from source",
        "reserve for loading                 40 GB",
        "floor, left free                    16 GB",
        "needed                           2,456 GB",
        "available                          445 GB  MemAvailable of node-174",
        "it does not fit: 2,011 GB too much; 48 fits",
    )
    assert asked(size(48)).explain()[-1] == "it fits, 5 GB to spare"


def test_the_least_room_counts():
    found = Rooms(rooms=(*FREE.rooms, Room(label="room in the cgroup", size_bytes=100 * GB)))
    tight = asked(size(48), found=found)
    assert tight.verdict is Verdict.TOO_MUCH
    assert tight.room.label == "room in the cgroup"
    assert tight.sizes[0].fits == 5


@pytest.mark.parametrize(
    ("flag", "total"),
    [
        (size(300, scope="total"), 300 * GB),
        (size(300, scope="per-node"), 300 * GB),
        (size(48, unit="GiB"), 8 * 48 * GIB),
        (size(48_000_000_000, unit="bytes"), 384 * GB),
        (size("48"), 384 * GB),
        (size(0.5), 4 * GB),
        (size(0), 0),
    ],
)
def test_unit_and_scope_decide_what_a_number_means(flag, total):
    assert asked(flag).asked_bytes == total


def test_a_proven_meaning_wins_over_the_profiles_word():
    proven = Meaning(unit="GB", scope="per-rank", pools=2, proven=True, why="proven from source")
    twice = asked(size(48, scope="total"), meanings={"hicache_size": proven})
    assert twice.asked_bytes == 2 * 384 * GB
    assert twice.sizes[0].fits == 24
    assert "2 pools x 48 GB" in twice.explain()[0]
    assert "proven from source" in twice.explain()[0]


def test_other_flags_leave_less():
    offload = Flag(name="cpu_offload_gb", value=10, unit="GB", scope="per-rank")
    fit = asked(size(AUTO), offload)
    assert fit.values == {"hicache_size": 38, "cpu_offload_gb": 10}
    assert fit.verdict is Verdict.FITS


def with_beside(*pools, **fields):
    meaning = Meaning(unit="GB", scope="per-rank", proven=True, why="proven", beside=pools, **fields)
    return {"hicache_size": meaning}


def test_pools_on_top_leave_less_and_have_lines_of_their_own():
    """TP4 x 150 GB took 34.38 GB of indexer each on top (sglang PR #29263): 132 bytes beside each 576."""
    indexer = Beside(label="DSA indexer", share=Fraction(132, 576))
    there = asked(size(150), ranks=4, meanings=with_beside(indexer))
    assert [(line.label, line.size_bytes) for line in there.beside] == [("DSA indexer", 4 * 34_375_000_000)]
    assert there.needed_bytes == (600 + 137.5 + 40 + 16) * GB
    assert there.sizes[0].fits == 79  # 4 x 79 x 708 / 576 = 388.4 of 389
    assert there.explain()[1] == "DSA indexer                      138 GB"


def test_a_pool_on_top_comes_once_where_the_size_is_taken_twice():
    draft = Beside(label="draft", share=Fraction(1, 10))
    there = asked(size(10), meanings=with_beside(draft, pools=2))
    assert there.asked_bytes == 160 * GB
    assert there.beside[0].size_bytes == 8 * GB
    assert there.sizes[0].fits == 23  # 8 x 23 x 2.1 = 386.4


def test_a_pool_on_top_whose_size_is_not_known_keeps_the_verdict_open():
    there = asked(size(1), meanings=with_beside(Beside(label="draft", share=None)))
    assert there.verdict is Verdict.UNKNOWN
    assert "how large the draft becomes is not known" in there.summary


def test_a_flag_whose_proof_failed_is_not_sized():
    lost = Meaning(unit=None, scope=None, why="the trail is lost at srt/a.py:7")
    there = asked(size(48), meanings={"hicache_size": lost})
    assert there.verdict is Verdict.UNKNOWN
    assert "what hicache_size means is not proven: the trail is lost at srt/a.py:7" in there.summary


def test_the_ranks_on_the_node_may_be_others_than_the_profiles():
    meanings = with_beside()
    assert budget(profile(16), FREE, flags=(size(48),), meanings=meanings, ranks=8).asked_bytes == 384 * GB


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        (size(48, unit=None), "unit and scope are wanted"),
        (size(48, scope=None), "unit and scope are wanted"),
        (
            Flag(name="hicache_ratio", value=2.0, unit="ratio", scope="per-rank"),
            "not known before the launch",
        ),
        (size("lots"), "'lots', which is no size"),
        (size(-1), "no size"),
        (size(float("nan")), "no size"),
        (size(True), "no size"),
    ],
)
def test_what_cannot_be_computed_is_not_known_to_fit(flag, said):
    unsure = asked(flag)
    assert unsure.verdict is Verdict.UNKNOWN
    assert said in unsure.explain()[-1]


def test_a_ratio_of_a_known_pool_can_be_sized():
    ratio = Flag(name="hicache_ratio", value=2.0)
    known = Meaning(unit="ratio", scope="per-rank", unit_bytes=16 * GB)
    assert asked(ratio, meanings={"hicache_ratio": known}).asked_bytes == 8 * 32 * GB


def test_two_flags_cannot_both_be_auto():
    other = Flag(name="cpu_offload_gb", value=AUTO, unit="GiB", scope="per-rank")
    unsure = asked(size(AUTO), other)
    assert unsure.verdict is Verdict.UNKNOWN
    assert unsure.values == {}
    assert "one of them must be a number" in unsure.summary


def test_an_auto_that_gets_nothing_does_not_fit():
    nothing = asked(size(AUTO), found=Rooms(rooms=(Room(label="m", size_bytes=60 * GB),)))
    assert nothing.verdict is Verdict.TOO_MUCH
    assert nothing.values == {}
    assert (
        nothing.explain()[-1] == "it does not fit: nothing is left to give it; no value of hicache_size fits"
    )


def test_too_much_stays_too_much_whatever_else_is_unknown():
    found = replace(FREE, unknown=("MemAvailable of pve-01 (timed out)",))
    assert asked(size(300), found=found).verdict is Verdict.TOO_MUCH
    assert asked(size(48), found=found).verdict is Verdict.UNKNOWN


def test_no_flag_still_needs_the_reserve_and_the_floor():
    assert asked().verdict is Verdict.FITS
    assert asked(found=Rooms(rooms=(Room(label="m", size_bytes=50 * GB),))).verdict is Verdict.TOO_MUCH
    assert asked(found=Rooms(rooms=())).verdict is Verdict.UNKNOWN


@given(
    available=st.integers(min_value=0, max_value=10**13),
    ranks=st.integers(min_value=1, max_value=64),
    reserve=st.integers(min_value=0, max_value=10**11),
    floor=st.integers(min_value=0, max_value=10**11),
)
def test_auto_is_the_largest_whole_number_that_fits(available, ranks, reserve, floor):
    found = Rooms(rooms=(Room(label="m", size_bytes=available),))
    sized = profile(ranks, host_memory=HostMemory(reserve_bytes=reserve, floor_bytes=floor))
    (best,) = budget(sized, found, flags=(size(AUTO),)).sizes
    left = available - reserve - floor
    assert best.fits * ranks * GB <= max(0, left)
    assert (best.fits + 1) * ranks * GB > left
    if best.fits:
        assert budget(sized, found, flags=(size(best.fits),)).verdict is Verdict.FITS
        assert budget(sized, found, flags=(size(best.fits + 1),)).verdict is Verdict.TOO_MUCH


# What there is: the bounds read from the facts.

NODE = Node(name="node-174", address="10.1.230.174", hypervisor="pve-01", guest=Guest(kind="lxc", id=174))


def memory(available_gb):
    return Memory(total_bytes=449 * GB, available_bytes=round(available_gb * GB), free_bytes=0, shmem_bytes=0)


def observation(available_gb=445.0, host_gb=540.0, limit=None, node=NODE, **readings):
    cgroup = CgroupMemory(version=2, limit_bytes=limit, current_bytes=9 * GB, inactive_file_bytes=2 * GB)
    on_node = {"memory": memory(available_gb), "cgroup": cgroup, **readings}
    beside = None if host_gb is None else Facts("pve-01", 0.0, {"memory": memory(host_gb)})
    return Observation(
        node=node, node_facts=Facts("node-174", 0.0, on_node), hypervisor_facts=beside,
        baseline=Baseline(available_bytes=445 * GB),
    )  # fmt: skip


def test_a_container_is_bounded_by_its_node_its_cgroup_and_its_hypervisor():
    found = rooms(observation(limit=400 * GB))
    assert [room.size_bytes // GB for room in found.rooms] == [445, 393, 540]
    assert found.unknown == ()


def test_what_zfs_gives_back_on_the_hypervisor_counts():
    with_cache = observation(host_gb=300.0)
    cache = Arc(size_bytes=40 * GB, least_bytes=8 * GB)
    readings = {**with_cache.hypervisor_facts.readings, ARC.name: cache}
    found = rooms(replace(with_cache, hypervisor_facts=Facts("pve-01", 0.0, readings)))
    assert found.rooms[-1] == Room(
        label="MemAvailable of pve-01 and 32 GB of ZFS's cache", size_bytes=332 * GB
    )


def test_a_vms_memory_is_its_own():
    vm = replace(NODE, guest=Guest(kind="vm", id=181))
    assert [room.label for room in rooms(observation(node=vm)).rooms] == ["MemAvailable of node-174"]


def test_what_could_not_be_read_is_unknown():
    gap = Missing(Gap.TIMED_OUT, "no answer in 10 s")
    found = rooms(observation(host_gb=None, **{MEMORY.name: gap, CGROUP.name: gap}))
    assert found.rooms == ()
    assert len(found.unknown) == 3


def test_for_a_node_that_is_still_to_be_cleaned_the_idle_memory_counts():
    found = rooms(observation(available_gb=9.6, host_gb=100.0), idle=True)
    assert [room.size_bytes for room in found.rooms] == [445 * GB, round(535.4 * GB)]
    assert found.rooms[0].label == "MemAvailable of node-174 when idle"
