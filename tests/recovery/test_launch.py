"""A launch: refused with the arithmetic where it does not fit, sized where it may be, recorded beside the last one."""

import pytest

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]


@pytest.fixture
def clean_node(fleet):
    assert fleet.fleetops("recover", "node-174", "--yes", "--no-relaunch").status == 0
    assert fleet.fleetops("kill", "node-174", "--yes").status == 0
    return fleet


def test_the_incidents_size_is_refused_before_anything_starts(clean_node):
    ran = clean_node.fleetops("launch", "--profile", "hicache300", "node-174", "--yes")
    assert ran.status == 5
    assert "2,400 GB" in ran.stderr
    assert "48 fits" in ran.stderr
    assert "set hicache-size to 48" in ran.stderr
    assert clean_node.look().services == ()


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


def test_the_log_of_an_earlier_launch_is_never_overwritten(clean_node):
    def logs():
        return set(clean_node.run("node-174", "sh", "-c", "ls /var/log/fleetops").split())

    assert clean_node.fleetops("launch", "--profile", "hicache48", "node-174", "--yes").status == 0
    first = logs()
    assert clean_node.fleetops("kill", "node-174", "--yes").status == 0
    assert clean_node.fleetops("launch", "--profile", "hicache48", "node-174", "--yes").status == 0
    assert len(logs() - first) == 1
    assert first <= logs()
