"""Devices that a Proxmox host hands to its guests: given twice, or not reset when they change hands."""

from dataclasses import replace

import pytest
from machine_scenes import entry, guest_facts, log, sight, state

from fleetops.checks.hypervisor.gpu_configured_twice import CHECK as TWICE
from fleetops.checks.hypervisor.passthrough_warnings import CHECK as WARNINGS
from fleetops.model.finding import Severity
from fleetops.model.guest import CLAIMS, GUESTS, DeviceClaim
from fleetops.model.kernel import KERNEL_LOG
from fleetops.model.past import Past

CRITICAL, UNKNOWN, WARNING = Severity.CRITICAL, Severity.UNKNOWN, Severity.WARNING


def container(guest_id, *minors):
    return DeviceClaim(guest_id=guest_id, kind="lxc", minors=minors)


def machine(guest_id, *addresses, **fields):
    return DeviceClaim(guest_id=guest_id, kind="vm", minors=(), addresses=addresses, **fields)


def judged(*claims, up=(174, 181), guests=None):
    listed = tuple(
        entry(guest_id, status="running" if guest_id in up else "stopped") for guest_id in (174, 181, 9)
    )
    return TWICE.judge(sight({CLAIMS: claims, GUESTS: listed}, guests))


ALL = DeviceClaim(guest_id=174, kind="lxc", minors=None)
PAIRS = [
    (container(174, 0, 1), container(181, 1, 2), "/dev/nvidia1"),
    (ALL, container(181, 3), "/dev/nvidia3"),
    (ALL, replace(ALL, guest_id=181), "all GPUs of the host's driver"),
    (machine(174, "0000:01:00.0"), machine(181, "0000:01:00"), "0000:01:00.0"),
    (machine(174, "0000:01:00"), machine(181, "0000:01:00.1"), "0000:01:00"),
    (container(174, 0), replace(machine(181, "0000:01:00.0"), minors=(0,)), "/dev/nvidia0"),
]


@pytest.mark.parametrize(("one", "other", "what"), PAIRS)
def test_two_guests_that_run_with_the_same_gpu_are_critical(one, other, what):
    (finding,) = judged(one, other)
    assert (finding.severity, finding.check) == (CRITICAL, "gpu-configured-twice")
    assert finding.evidence == (
        f"guests 174 and 181 are both given {what}: 174 (node-174) runs, 181 (node-181) runs"
    )
    assert finding.subject == "GPU of 174 and 181"


@pytest.mark.parametrize("up", [(), (174,)])
def test_alternatives_of_which_at_most_one_is_up_are_a_warning(up):
    (finding,) = judged(container(174, 0), container(181, 0), up=up)
    assert finding.severity is WARNING
    assert "181 (node-181) is down" in finding.evidence


def test_one_that_starts_with_the_host_counts_as_up():
    starts = {"node-181": guest_facts(guest=state(181, kind="vm", status="stopped", config={"onboot": "1"}))}
    (finding,) = judged(container(174, 0), container(181, 0), up=(174,), guests=starts)
    assert finding.severity is CRITICAL
    assert "181 (node-181) starts with the host" in finding.evidence


APART = [
    (container(174, 0), container(181, 1)),
    (machine(174, "0000:01:00.0"), machine(181, "0000:02:00.0")),
    (machine(174, "0000:01:00.0", vgpu=True), machine(181, "0000:01:00.0", vgpu=True)),
    (ALL, machine(181, "0000:01:00.0")),
    (container(174, 0),),
]


@pytest.mark.parametrize(
    "claims", APART, ids=["minors", "addresses", "slices", "host's driver and vfio", "one"]
)
def test_guests_with_gpus_of_their_own_or_slices_are_let_pass(claims):
    assert judged(*claims) == []


def test_three_guests_give_a_finding_for_each_pair():
    found = judged(container(174, 0), container(181, 0), container(9, 0))
    assert [one.subject for one in found] == ["GPU of 174 and 181", "GPU of 174 and 9", "GPU of 181 and 9"]


def test_a_mapping_that_nothing_resolves_is_unknown_and_the_same_one_twice_is_certain():
    hidden = DeviceClaim(guest_id=181, kind="vm", minors=None, unresolved=("h20",))
    (finding,) = judged(container(174, 0), hidden)
    assert (finding.severity, finding.subject) == (UNKNOWN, "devices of 181")
    assert "nothing tells what mapping h20 is here" in finding.evidence
    assert CRITICAL in [one.severity for one in judged(replace(hidden, guest_id=174), hidden)]


# Resets.

READY = "vfio-pci 0000:c1:00.0: not ready 1023ms after FLR; waiting"
GIVEN_UP = "vfio-pci 0000:c1:00.0: not ready 65535ms after FLR; giving up"
NO_POWER = "vfio-pci 0000:c1:00.0: Unable to change power state from D3cold to D0, device inaccessible"
HEALED = "vfio-pci 0000:c1:00.0: reset done"
DAY = 86_400.0


def warned(*lines, past=None):
    seen = sight({KERNEL_LOG: log(*lines)})
    return WARNINGS.judge(seen if past is None else replace(seen, past=past))


@pytest.mark.parametrize("text", [GIVEN_UP, NO_POWER])
def test_a_device_that_was_given_up_is_critical_for_as_long_as_the_host_is_up(text):
    (finding,) = warned((30 * DAY, READY), (30 * DAY, text))
    assert (finding.severity, finding.subject) == (CRITICAL, "device not reset")
    assert f"{text} (30 days ago); dead until pve-01 is rebooted or power-cycled" in finding.evidence
    assert finding.next == "fleetops run pve-01 -- lspci -nnk -s 0000:c1:00.0"


def test_a_device_that_came_back_later_is_not_dead():
    assert warned((DAY, GIVEN_UP), (DAY / 2, HEALED)) == []
    (finding,) = warned((DAY, HEALED), (DAY / 2, GIVEN_UP))
    assert finding.severity is CRITICAL


def test_a_slow_reset_is_a_warning_once():
    (finding,) = warned((60.0, READY))
    assert (finding.severity, finding.subject) == (WARNING, "reset warnings")
    assert finding.evidence == f"since the last look 5 min ago: {READY} (1 min ago)"
    assert warned((400.0, READY)) == []
    assert len(warned((400.0, READY), past=Past())) == 1


def test_a_dead_device_is_not_told_as_slow_too():
    (finding,) = warned((60.0, READY), (50.0, GIVEN_UP))
    assert finding.severity is CRITICAL


@pytest.mark.parametrize(
    "text",
    [
        "vfio-pci 0000:c1:00.0: enabling device (0000 -> 0002)",
        "vfio-pci 0000:c1:00.0: vfio_ecap_init: hiding ecap 0x19@0x900",
        "VFIO - User Level meta-driver version: 0.3",
        HEALED,
        "NVRM: Xid (PCI:0000:c1:00): 79, GPU has fallen off the bus.",
        "pcieport 0000:c0:01.0: AER: Corrected error message received from 0000:c1:00.0",
    ],
)
def test_what_belongs_to_every_start_of_a_vm_is_let_pass(text):
    assert warned((60.0, text)) == []
