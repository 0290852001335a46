"""What a sweep says of the lab: nothing while it is well, and of each way in which it breaks exactly what is broken.

A scene breaks a container, a VM and bare metal at once, each in another way, and is swept once. What is asserted is
everything that was found, on every host: what is not expected is a fault as much as what is missing.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from fleetops.facts import gpus, nvlink
from fleetops.fleet import service_answers
from fleetops.fleet.sweeping import Sweeper
from fleetops.inventory.load import load_inventory
from fleetops.lab.api import Lab, break_node
from fleetops.lab.breakages import breakage
from fleetops.lab.breakages.base import BrokenNode
from fleetops.model.finding import Severity
from fleetops.model.fleet import Inventory
from fleetops.model.sweep import Sweep
from fleetops.ssh import link

pytestmark = [pytest.mark.lab, pytest.mark.timeout(120)]

INCIDENT, CONTAINER, MACHINE, BARE = "node-174", "node-175", "node-181", "node-190"
ABSENT = "service-absent"
HELD = {ABSENT, "gpu-memory-held"}
# How fast they answer is a matter of the machine that the tests run on.
PASSED_OVER = {"slow-to-answer"}
ALL_NODES = (INCIDENT, CONTAINER, MACHINE, BARE)

Scene = Mapping[str, tuple[str, set[str]]]
"""Node -> how it is broken, and the checks that find something there."""

SCENES: tuple[tuple[Scene, Mapping[str, set[str]]], ...] = (
    (
        {
            CONTAINER: ("zombies", {"ranks-dead", "port-held", "leftovers"}),
            MACHINE: ("orphans", {*HELD, "orphans"}),
            BARE: ("shm", {ABSENT, "leftovers"}),
        },
        {},
    ),
    (
        {
            CONTAINER: ("stubborn", {"ranks-dead", "port-held", "gpu-memory-held"}),
            MACHINE: ("ghost-leader", {*HELD, "ghost-leaders", "orphans", "port-held"}),
            BARE: ("port-held", {ABSENT, "port-held"}),
        },
        {},
    ),
    (
        {
            CONTAINER: ("one-gpu-lost", {ABSENT, "gpu-lost"}),
            MACHINE: ("driver-mismatch", {ABSENT, "driver-mismatch"}),
            BARE: ("one-gpu-wants-reset", {ABSENT, "gpu-wants-reset"}),
        },
        {},
    ),
    (
        {
            CONTAINER: ("shared-gpu", HELD),
            MACHINE: ("guest-locked", {*HELD, "guest-locked"}),
            BARE: ("full-disk", {ABSENT, "disk-full"}),
        },
        {"pve-01": {"gpu-configured-twice"}},
    ),
    (
        {
            CONTAINER: ("no-banner", {"no-banner"}),
            MACHINE: ("ha-managed", {"no-banner"}),
            BARE: ("nvidia-smi-hangs", {ABSENT, "driver-unresponsive"}),
        },
        {},
    ),
    (
        {
            CONTAINER: ("xid", {"gpu-xid"}),
            MACHINE: ("gpu-ailing", {"gpu-hot", "gpu-throttled", "gpu-pcie-width", "gpu-nvlink", "gpu-rows-remapped"}),
            BARE: ("clock-skew", {"clock-skew"}),
        },
        {},
    ),
    (
        {
            CONTAINER: ("oom-kill", {"oom-killed"}),
            MACHINE: ("pending-changes", set()),
            BARE: ("wrong-machine", {"wrong-machine"}),
        },
        {"pve-02": {"pending-changes"}},
    ),
    (
        {
            CONTAINER: ("lock-left", {"guest-locked"}),
            MACHINE: ("ha-gave-up", set()),
            BARE: ("hung-task", {"hung-tasks"}),
        },
        {"pve-01": {"lock-stale"}, "pve-02": {"ha-state"}},
    ),
    (
        {
            CONTAINER: ("inodes-gone", {"inodes-full"}),
            MACHINE: ("not-reset", set()),
            BARE: ("fabric-down", {"gpu-fabric", "gpu-sxid"}),
        },
        {"pve-02": {"passthrough-warnings"}},
    ),
)  # fmt: skip


@pytest.fixture(scope="module")
def fleet(lab: Lab) -> Iterator[Inventory]:
    """The lab's inventory, every node with the service that belongs there."""
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(len(ALL_NODES)) as pool:
        patch.setenv("SGLANG_LAB_PACE", "0.2")
        list(pool.map(lambda name: serve(lab, name), ALL_NODES))
        yield load_inventory(lab.inventory)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who hangs is known sooner: an SSH server after four seconds, nvidia-smi after two, a service after one."""
    monkeypatch.setattr(link, "BANNER_S", 4.0)
    for each, options in ((gpus, ("-q", "-x")), (nvlink, ("nvlink", "-s"))):
        monkeypatch.setattr(each, "FACT", replace(each.FACT, command=gpus.ask(*options, old_s=2)))
    monkeypatch.setattr(service_answers, "_DEADLINE_S", 1.0)


@pytest.fixture
def swept(fleet: Inventory, sweeper: Callable[..., Sweeper]) -> Callable[[], Sweep]:
    """One more sweep of all of it."""
    return sweeper(fleet).once


def serve(lab: Lab, name: str, fault: str = "") -> None:
    broken = BrokenNode(lab.folder, name)
    broken.clear()
    broken.serve_profile(fault=fault)


def broken_so(lab: Lab, ways: Mapping[str, str]) -> None:
    with ThreadPoolExecutor(len(ways)) as pool:
        list(pool.map(lambda way: break_node(lab.folder, *way), ways.items()))


def found(sweep: Sweep) -> dict[str, set[str]]:
    """What each host that is not well is told of; unknowns only where nothing else is found."""
    told = {host.name: [one for one in host.findings if one.check not in PASSED_OVER] for host in sweep.hosts}
    return {
        name: {one.check for one in findings if one.severity is not Severity.UNKNOWN}
        or {f"{one.check}: unknown" for one in findings}
        for name, findings in told.items()
        if findings
    }


def evidence(sweep: Sweep, host: str, check: str) -> str:
    return next(
        one.evidence
        for each in sweep.hosts
        for one in each.findings
        if (one.host, one.check) == (host, check)
    )


def test_while_its_services_run_the_lab_is_well_and_nothing_about_it_is_unknown(swept) -> None:
    for sweep in (swept(), swept()):
        assert found(sweep) == {}
        assert len(sweep.hosts) == 6


@pytest.mark.parametrize(
    ("scene", "hypervisors"),
    SCENES,
    ids=[" + ".join(way for way, _ in scene.values()) for scene, _ in SCENES],
)
def test_each_breakage_is_named_and_nothing_else(lab, swept, scene, hypervisors) -> None:
    broken_so(lab, {name: way for name, (way, _) in scene.items()})
    sweep = swept()
    wanted = {name: checks for name, (_, checks) in scene.items() if checks}
    assert found(sweep) == {**wanted, **hypervisors}
    unknown = {one.host for host in sweep.hosts for one in host.findings if one.severity is Severity.UNKNOWN}
    unread = {name for name, (way, _) in scene.items() if way in {"driver-mismatch", "nvidia-smi-hangs"}}
    assert unknown == unread
    assert all("fleetops " in one.next for host in sweep.hosts for one in host.findings)


def test_errors_that_are_counted_for_ever_are_named_when_there_are_more_of_them(lab, fleet, sweeper) -> None:
    of_the_node = replace(sweeper(fleet), hosts=[fleet.nodes[BARE]])
    serve(lab, BARE)
    assert found(of_the_node.once()) == {}
    break_node(lab.folder, BARE, "ecc-errors")
    assert found(of_the_node.once()) == {BARE: {"gpu-ecc-uncorrected", "service-restarted"}}
    assert "GPU 1" in evidence(of_the_node.once(), BARE, "gpu-ecc-uncorrected")


def test_a_service_that_answers_no_request_is_named_though_all_of_it_lives(lab, fleet, sweeper) -> None:
    serve(lab, BARE, fault="hangs-after-ready:0.1")
    of_the_node = replace(sweeper(fleet), hosts=[fleet.nodes[BARE]])
    assert found(of_the_node.once()) == {BARE: {"not-generating"}}


def test_the_incident_is_named_before_the_launch_and_after_it(lab, fleet, sweeper) -> None:
    node = replace(fleet.nodes[INCIDENT], profile="hicache300")
    planned = replace(fleet, nodes={**fleet.nodes, INCIDENT: node})
    of_the_node = replace(sweeper(planned), hosts=[node, planned.hypervisors["pve-01"]])
    broken = BrokenNode(lab.folder, INCIDENT)
    try:
        broken.clear()
        before = of_the_node.once()
        assert found(before) == {INCIDENT: {ABSENT, "does-not-fit"}}
        assert evidence(before, INCIDENT, "does-not-fit") == (
            "hicache300: 8 x 300 GB = 2,400 GB asked, 445 GB available; 48 fits"
        )
        breakage("per-rank-trap").apply(lab.folder, INCIDENT)
        after = of_the_node.once()
        assert found(after)[INCIDENT] >= {
            "does-not-fit",
            "ranks-dead",
            "ghost-leaders",
            "ranks-in-d-state",
            "memory-missing",
            "oom-killed",
        }
        assert "5 of 8 ranks are zombies" in evidence(after, INCIDENT, "ranks-dead")
        assert found(after)["pve-01"] == {"oom-killed"}
    finally:
        serve(lab, INCIDENT)
