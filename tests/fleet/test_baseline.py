"""How an idle node looks where nobody recorded it: as a peer of its own kind, else computed; the margin is stated."""

from dataclasses import replace

import pytest
from node_scenes import NODE, launcher, missing, observe, process, rank

from fleetops.fleet.baseline import estimate_baseline, idle_state
from fleetops.fleet.observe import observe as look
from fleetops.model.command import Outcome
from fleetops.model.finding import Baseline
from fleetops.model.fleet import Inventory
from fleetops.model.gpu import GPUS
from fleetops.model.machine import MEMORY, PROCESSES
from fleetops.model.units import GB, MIB
from fleetops.steps.support.reclaim import reclaim_rows

PEER = Baseline(
    available_bytes=446 * GB,
    gpu_used_bytes={"GPU-x": 614 * MIB, "GPU-y": 600 * MIB},
    source="recorded 2026-11-20",
    total_bytes=450 * GB,
    gpu_model="NVIDIA H20",
)


def wedged(**facts):
    return observe(launcher(), *(rank(number) for number in range(8)), baseline=None, **facts)


def test_an_idle_peer_of_the_same_model_tells():
    found = estimate_baseline(wedged(), {"node-175": PEER})
    assert found.available_bytes == 445 * GB  # the peer lacks 4 of its 450 GB
    assert found.margin_bytes == round(449 * GB * 0.02)
    assert found.gpu_used_bytes == {f"GPU-{index}": 614 * MIB for index in range(8)}
    assert found.source == "as idle peer node-175 (recorded 2026-11-20), within 9 GB; none was recorded here"


def test_of_several_peers_the_nearest_in_size_counts():
    peers = {"node-9": PEER, "node-8": replace(PEER, total_bytes=449 * GB, available_bytes=440 * GB)}
    assert "node-8" in estimate_baseline(wedged(), peers).source


@pytest.mark.parametrize(
    "peer",
    [
        replace(PEER, gpu_model="NVIDIA H200"),
        replace(PEER, total_bytes=455 * GB),
        replace(PEER, total_bytes=0, gpu_model=""),
    ],
    ids=["other GPUs", "other size", "recorded before these were"],
)
def test_a_machine_of_another_kind_is_no_peer(peer):
    assert estimate_baseline(wedged(), {"node-175": peer}).source.startswith("MemTotal less 1 %")


def test_where_the_gpus_cannot_be_read_no_peer_is_known():
    assert "MemTotal" in estimate_baseline(wedged(facts={GPUS: missing()}), {"node-175": PEER}).source


def test_else_it_is_memtotal_less_the_kernel_and_what_stays():
    database = process(800, "postgres", "postgres", rss_bytes=30 * GB)
    seen = observe(launcher(), rank(0, rss_bytes=50 * GB), database, baseline=None)
    found = estimate_baseline(seen, {})
    assert 444 * GB - 30.5 * GB < found.available_bytes < 445 * GB - 30 * GB
    assert found.source == "MemTotal less 1 % and 30 GB of processes that stay, within 9 GB; no idle state was recorded"  # fmt: skip


@pytest.mark.parametrize("key", [MEMORY, PROCESSES])
def test_without_the_facts_there_is_none(key):
    assert estimate_baseline(wedged(facts={key: missing()}), {"node-175": PEER}) is None


def test_the_table_says_where_the_idle_figure_comes_from():
    before = replace(wedged(), baseline=estimate_baseline(wedged(), {"node-175": PEER}))
    row = reclaim_rows(before, before)[0]
    assert (row.fact, row.idle) == ("host-memory", "445 GB")
    assert row.note.startswith("as idle peer node-175")


class Nobody:
    """A node whose reads all come back empty."""

    def session(self, host):
        return self

    def batch(self, commands):
        return [Outcome(status=0, stdout="") for _ in commands]


def test_what_was_recorded_of_the_node_itself_counts_before_any_peer():
    node = replace(NODE, hypervisor="", guest=None)
    inventory = Inventory(path=".", nodes={"node-174": node})
    own = Baseline(available_bytes=1)
    seen = look(Nobody(), inventory, node, baseline=own, peers={"node-175": PEER})
    assert seen.baseline == own


@pytest.mark.parametrize(
    "recorded",
    [
        Baseline(available_bytes=445 * GB, source="recorded", total_bytes=449 * GB),
        Baseline(available_bytes=445 * GB, source="recorded"),
    ],
    ids=["its own", "recorded before MemTotal was"],
)
def test_what_was_recorded_on_this_machine_counts(recorded):
    assert idle_state(wedged(), recorded, {"node-175": PEER}) is recorded
    assert idle_state(wedged(facts={MEMORY: missing()}), recorded, {}) is recorded


@pytest.mark.parametrize(
    "recorded",
    [
        Baseline(available_bytes=890 * GB, source="recorded", total_bytes=900 * GB),
        Baseline(available_bytes=220 * GB, source="recorded", total_bytes=225 * GB),
        Baseline(available_bytes=890 * GB, source="recorded"),
    ],
    ids=["it had more", "it had less", "more than there is"],
)
def test_a_node_with_other_memory_since_is_not_held_to_what_it_was(recorded):
    assert idle_state(wedged(), recorded, {}).source.startswith("MemTotal less 1 %")
