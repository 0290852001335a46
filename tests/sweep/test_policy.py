"""When a sweep may recover by itself: by a policy that somebody has written and asked for, and no further."""

import time
from dataclasses import replace

import pytest

from fleetops.fleet.due import due
from fleetops.inventory.load import InventoryInvalid, load_inventory
from fleetops.model.finding import Finding, Severity
from fleetops.model.fleet import Inventory, Node
from fleetops.model.policy import Hours, Policy
from fleetops.model.sweep import Sweep, Tracked
from fleetops.playbook.load import shipped_playbook
from fleetops.playbook.parts import up_to_rung

POLICY = Policy(name="night", findings=("ranks-dead",), nodes=("node-[1-2]",))
NODES = {name: Node(name=name, address="127.0.0.1") for name in ("node-1", "node-2", "node-3")}
INVENTORY = Inventory(path=".", nodes=NODES)
NOON = time.mktime((2026, 12, 1, 12, 0, 0, 0, 0, -1))
FOUND = Tracked(
    finding=Finding(
        host="node-1", check="ranks-dead", severity=Severity.CRITICAL, subject="ranks dead", evidence="5 of 8"
    ),
    first_seen=0,
    last_seen=0,
    sightings="11",
    count=2,
    firm=True,
)


def on(host, **finding):
    return replace(FOUND, finding=replace(FOUND.finding, host=host, **finding))


def asked(*tracked, policy=POLICY, at=NOON):
    return [one.node for one in due(Sweep(at=at, seconds=1, hosts=(), tracked=tracked), policy, INVENTORY)]


def test_a_firm_critical_finding_that_it_names_on_a_node_that_it_names_is_due():
    (one,) = due(Sweep(at=NOON, seconds=1, hosts=(), tracked=(FOUND,)), POLICY, INVENTORY)
    assert (one.node, one.because) == ("node-1", FOUND.finding)


@pytest.mark.parametrize(
    "other",
    [
        replace(FOUND, firm=False),
        replace(FOUND, sightings="110"),
        replace(FOUND, sightings="11?"),
        replace(FOUND, sightings="1010101"),
        replace(FOUND, acknowledged="ada: on it"),
        replace(FOUND, silenced_until=NOON + 60),
        on("node-1", severity=Severity.WARNING),
        on("node-1", severity=Severity.UNKNOWN),
        on("node-1", check="memory-low"),
        on("node-3"),
        on("pve-01"),
    ],
    ids=["one sighting", "gone now", "untold now", "flaps", "acknowledged", "silenced", "warning", "unknown", "another check", "another node", "a hypervisor"],
)  # fmt: skip
def test_nothing_else_is(other):
    assert asked(other) == []


def test_a_node_of_which_something_is_unknown_is_a_persons_and_silence_alone_is_not_that():
    assert asked(FOUND, on("node-1", check="gpu-count", severity=Severity.UNKNOWN)) == []
    assert asked(FOUND, on("node-1", check="failed-units", severity=Severity.UNKNOWN)) == ["node-1"]
    silent = on("node-1", check="no-banner", severity=Severity.CRITICAL)
    mute = on("node-1", check="unreachable", severity=Severity.UNKNOWN)
    assert asked(silent, mute, policy=replace(POLICY, findings=("no-banner",))) == ["node-1"]


def test_each_node_once_in_the_order_of_what_is_worst():
    assert asked(FOUND, on("node-1", subject="more"), on("node-2")) == ["node-1", "node-2"]


def test_outside_of_its_hours_nothing_is():
    night = replace(POLICY, hours=Hours(begin_min=22 * 60, end_min=6 * 60))
    assert asked(FOUND, policy=night) == []
    assert asked(FOUND, policy=night, at=NOON + 11 * 3600) == ["node-1"]
    assert asked(FOUND, policy=replace(POLICY, hours=Hours(begin_min=11 * 60, end_min=13 * 60))) == ["node-1"]


@pytest.mark.parametrize(
    ("rung", "gone"),
    [(1, {"clear-leftovers", "reset-gpus", "power-cycle"}), (2, {"reset-gpus", "power-cycle"}), (3, {"power-cycle"}), (4, set())],
)  # fmt: skip
def test_the_rungs_above_its_own_are_left_out_and_what_proves_the_result_is_not(rung, gone):
    book = shipped_playbook("recover")
    less = up_to_rung(book, rung, "policy night: ranks dead on node-1")
    steps = {entry.step for entry in less.entries}
    assert {entry.step for entry in book.entries} - steps == gone
    assert {"keep-evidence", "verify-reclaimed", "prove", "start-guard", "await-ready"} <= steps
    assert less.left_out.startswith("policy night: ranks dead on node-1")
    assert all(step in less.left_out for step in gone)


FLEET = """\
nodes:
  node-1: {address: 127.0.0.1}
policies:
  night: {findings: [ranks-dead], nodes: ["node-1"], %s}
"""


def test_one_is_read_from_the_inventory(tmp_path):
    (tmp_path / "fleet.yaml").write_text(FLEET % 'rung: 3, hours: "22:00-06:00"')
    policy = load_inventory(tmp_path).policies["night"]
    assert policy == Policy(
        name="night",
        findings=("ranks-dead",),
        nodes=("node-1",),
        rung=3,
        hours=Hours(begin_min=1320, end_min=360),
    )


@pytest.mark.parametrize(
    ("more", "says"),
    [("rung: 5", "from 1 to 4"), ('hours: "22-6"', "hours of the day"), ("nodes: [node-2]", "node-2")],
)
def test_what_is_wrong_with_one_is_said_with_its_place(tmp_path, more, says):
    text = FLEET % "rung: 2" if "nodes" not in more else FLEET.replace('nodes: ["node-1"], %s', more)
    (tmp_path / "fleet.yaml").write_text(text.replace("rung: 2", more) if "nodes" not in more else text)
    with pytest.raises(InventoryInvalid) as invalid:
        load_inventory(tmp_path)
    assert says in "\n".join(map(str, invalid.value.problems))
