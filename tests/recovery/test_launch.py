"""A launch: refused with the arithmetic where it does not fit, sized where it may be, recorded beside the last one."""

import shutil

import pytest
from command_line import CommandLine

from fleetops.lab.breakages.base import BrokenNode

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]


@pytest.fixture
def clean_node(fleet):
    """node-174 with nothing on it, by the lab's own means."""
    BrokenNode(fleet.lab.folder, "node-174").clear()
    return fleet


def test_auto_takes_the_largest_size_that_fits(clean_node):
    ran = clean_node.fleetops("launch", "--profile", "hicache-auto", "node-174", "--yes", "--json")
    assert ran.status == 0, ran.stderr
    [service] = clean_node.look().services
    assert service.flags["hicache_size"] == "48"


def test_a_second_launch_beside_a_running_service_is_refused(clean_node):
    assert clean_node.fleetops("launch", "--profile", "hicache48", "node-174", "--yes").status == 0
    ran = clean_node.fleetops("launch", "--profile", "hicache48", "node-174", "--yes", "--json")
    assert ran.status == 5
    assert [len(service.ranks) for service in clean_node.look().services] == [8]


def test_without_nodes_it_takes_those_that_name_the_profile(clean_node):
    ran = clean_node.fleetops("launch", "--profile", "hicache48", "--dry-run", "--json")
    assert (ran.status, ran.json["node"]) == (0, "node-174")


def test_a_profile_that_no_node_names_is_a_usage_error(clean_node):
    ran = clean_node.fleetops("launch", "--profile", "hicache300", "--yes")
    assert ran.status == 2
    assert "no node" in ran.stderr


@pytest.mark.long
def test_the_log_of_an_earlier_launch_is_never_overwritten(clean_node):
    def logs():
        return set(clean_node.run("node-174", "sh", "-c", "ls /var/log/fleetops").split())

    assert clean_node.fleetops("launch", "--profile", "hicache48", "node-174", "--yes").status == 0
    first = logs()
    assert clean_node.fleetops("kill", "node-174", "--yes").status == 0
    assert clean_node.fleetops("launch", "--profile", "hicache48", "node-174", "--yes").status == 0
    assert len(logs() - first) == 1
    assert first <= logs()


@pytest.fixture
def with_profile(clean_node, tmp_path):
    """The lab's inventory with one more profile, as a user would copy and change it."""

    def make(name: str, **changes: str):
        folder = tmp_path / "inventory"
        shutil.copytree(clean_node.lab.inventory, folder)
        text = (folder / "profiles.yaml").read_text()
        block = text[text.index("  hicache48:") : text.index("  hicache-auto:")].replace("hicache48", name)
        for old, new in changes.values():
            assert old in block
            block = block.replace(old, new)
        (folder / "profiles.yaml").write_text(text + "\n" + block)
        return CommandLine(folder, tmp_path)

    return make


def test_a_service_that_dies_on_the_way_up_is_told_with_its_cause_and_leaves_nothing(
    with_profile, clean_node
):
    fleetops = with_profile("tiny", size=("{value: 48,", "{value: 2,"))
    ran = fleetops("launch", "--profile", "tiny", "node-174", "--yes", "--json")
    assert ran.status == 4, ran
    assert "host memory should be larger than the device memory" in ran.json["why"]
    observation = clean_node.look()
    assert observation.services == ()
    assert observation.node_facts.readings["memory"].available_bytes > 440e9


@pytest.mark.long
def test_a_service_that_dies_just_after_ready_is_told_with_its_cause_and_leaves_nothing(
    with_profile, clean_node
):
    fault = '"0.2", SGLANG_LAB_FAULT: "dies-after-ready:6"}'
    fleetops = with_profile("dying", watch=("watch: 0.5s", "watch: 2m"), fault=('"0.2"}', fault))
    ran = fleetops("launch", "--profile", "dying", "node-174", "--yes", "--json")
    assert ran.status == 4, ran
    assert "dying died: torch.OutOfMemoryError: CUDA out of memory" in ran.json["why"]
    assert ran.json["launched"] is None
    assert clean_node.look().services == ()


def test_a_service_that_is_not_ready_in_time_is_ended(with_profile, clean_node):
    fleetops = with_profile(
        "slow", deadline=("ready-deadline: 90s", "ready-deadline: 2s"), pace=('"0.2"', '"3"')
    )
    ran = fleetops("launch", "--profile", "slow", "node-174", "--yes", "--json")
    assert ran.status == 4, ran
    assert "is not ready after 2.0 s" in ran.json["why"]
    assert clean_node.look().services == ()
