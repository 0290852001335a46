"""What only shows beside the others."""

from dataclasses import replace

from node_scenes import NODE, gpus, observe

from fleetops.checks import judge_fleet
from fleetops.checks.support.odd import odd_ones
from fleetops.model.engine import ENGINE_SOURCE, EngineSource
from fleetops.model.finding import Severity
from fleetops.model.gpu import GPUS
from fleetops.model.machine import IDENTITY, Identity


def node(number, *, version="0.5.9", driver="570.86.15", **fields):
    source = EngineSource(engine="sglang", folder="/root/sglang", version=version)
    facts = {ENGINE_SOURCE: source, GPUS: replace(gpus(), driver_version=driver), **fields.pop("facts", {})}
    return observe(node=replace(NODE, name=f"node-{number}", **fields), facts=facts)


def test_a_fleet_of_one_kind_has_nothing_to_say():
    assert judge_fleet([node(number) for number in range(4)]) == ()


def test_the_one_with_another_release_is_named_with_what_the_others_have():
    (one,) = judge_fleet([*(node(number) for number in range(4)), node(9, version="0.5.13")])
    assert (one.host, one.check, one.severity) == ("node-9", "engine-differs", Severity.WARNING)
    assert one.evidence == "its source is 0.5.13; 4 of 5 nodes of profile hicache48 have 0.5.9"


def test_and_the_one_with_another_driver():
    (one,) = judge_fleet([*(node(number) for number in range(4)), node(9, driver="580.1")])
    assert (one.host, one.check) == ("node-9", "driver-differs")
    assert "4 of 5 nodes with NVIDIA H20 have 570.86.15" in one.evidence


def test_of_two_nodes_neither_is_odd_and_half_and_half_is_no_rest():
    assert judge_fleet([node(1), node(2, version="0.5.13")]) == ()
    assert odd_ones({"a": "1", "b": "1", "c": "2", "d": "2"}) == ()


def test_a_machine_that_answers_as_another_is_compared_with_nobody():
    other = Identity(hostname="x", machine_id="f" * 32, boot_id="b", uptime_s=1)
    wrong = node(9, version="0.5.13", machine_id="a" * 32, facts={IDENTITY: other})
    assert judge_fleet([*(node(number) for number in range(4)), wrong]) == ()
