"""What a sweep says of GPUs: a healthy node says nothing, the failing one says it, a missing fact is unknown."""

from dataclasses import replace
from pathlib import Path

import pytest
from gpu_scenes import BARE, IN_VM, NOW, bus, eight, healthy, links, log, past, swept
from node_scenes import NODE, missing, profile

from fleetops.checks import all_checks
from fleetops.checks.gpu import gpu_ecc_uncorrected, gpu_lost, gpu_nvlink, gpu_throttled, gpu_xid
from fleetops.facts.gpus import FACT as GPUS_FACT
from fleetops.model.command import Outcome
from fleetops.model.device_service import DEVICE_SERVICES, DeviceServices
from fleetops.model.fact import Gap
from fleetops.model.finding import Severity
from fleetops.model.gpu import GPU_PCI, GPUS, NVLINKS, Gpus, LostGpu, PciGpu
from fleetops.model.guest import CLAIMS, GUEST, DeviceClaim, GuestState
from fleetops.model.kernel import KERNEL_LOG
from fleetops.model.past import Past, Sample

CRITICAL, UNKNOWN, WARNING = Severity.CRITICAL, Severity.UNKNOWN, Severity.WARNING
CHECKS = {check.name: check for check in all_checks() if check.sweeps_only and check.name.startswith("gpu-")}

GSP = "NVRM: Xid (PCI:0000:10:00): 119, pid=20243, name=nvidia-smi, Timeout after 6s of waiting for RPC response"
OFF = "NVRM: Xid (PCI:0000:17:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
OF_ANOTHER = GSP.replace("0000:10:00", "0000:19:00")
APP = "NVRM: Xid (PCI:0000:10:00): 31, pid=4131, name=python3, Ch 00000008, intr 00000000. MMU Fault"
SXID = "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 24007, Fatal, Link 28 sourcetrack timeout error (First)"
SXID_MINOR = (
    "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error"
)
TO_RESET = (
    "NVRM: Xid (PCI:0000:10:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
)


def logged(*lines, **more):
    """A container whose host's kernel has said that, seconds ago."""
    return swept(on_host={KERNEL_LOG: log(*lines)}, **more)


def ecc(now, *before):
    return swept(
        healthy(2, ecc_uncorrected_aggregate=now), past=past(**{"gpu-GPU-2-ecc-uncorrected-count": before})
    )


def slowed(index, *reasons, us=None, **more):
    counters = () if us is None else (("hw_thermal_slowdown", us), ("sw_power_cap", 10**12))
    return swept(healthy(index, health={"slowed_by": reasons, "slowed_us": counters}), **more)


def counted(*samples):
    return past(**{"gpu-GPU-3-hw-slowdown-us": list(samples)})


def seen(*samples):
    return past(**{"gpu-GPU-3-hw-slowdown-seen-count": list(samples)})


def vm(*gpus, **more):
    return swept(*gpus, node=IN_VM, **more)


NARROW_BELOW = PciGpu(bdf="0000:13:00.0", driver="vfio-pci", width=4, width_max=16)
WITHOUT_DRIVER = PciGpu(bdf="0000:17:00.0", device="2335")
SEVEN = eight(count=7)

FAILING = [
    ("gpu-xid", logged((720, GSP), (60, GSP)), CRITICAL, "Xid wants a reset", "GPU 0 at 0000:10:00.0: Xid 119 (GSP RPC Timeout), 2 times, last 1 min ago (nvidia-smi); NVIDIA's catalogue asks for a reset of the GPU, then a look at driver and software"),
    ("gpu-xid", logged((720, OFF)), CRITICAL, "Xid wants a restart", "GPU 7 at 0000:17:00.0: Xid 79 (GPU has fallen off the bus) 12 min ago"),
    ("gpu-xid", logged((720, "NVRM: Xid (PCI:0000:10:00): 54, aux power")), CRITICAL, "Xid wants a look", "a look at its cables and connectors, then NVIDIA's support"),
    ("gpu-xid", vm(on_node={KERNEL_LOG: log((5, GSP))}), CRITICAL, "Xid wants a reset", "Xid 119"),
    ("gpu-xid", logged((5, "NVRM: GPU 0000:17:00.0: GPU has fallen off the bus.")), CRITICAL, "Xid wants a restart", "GPU 7 at 0000:17:00.0: no Xid (GPU has fallen off the bus) 5 s ago"),
    ("gpu-xid", vm(on_node={KERNEL_LOG: log((5, OFF))}), CRITICAL, "Xid wants a restart", "a stop and a start of the VM may do, else a person restarts pve-01"),
    ("gpu-xid-minor", logged((60, APP)), WARNING, "Xid of an application", "GPU 0 at 0000:10:00.0: Xid 31 (GPU memory page fault) 1 min ago (python3); NVIDIA's catalogue asks for a restart of the application"),
    ("gpu-xid-minor", logged((90_000, "NVRM: Xid (PCI:0000:10:00): 999, nobody knows")), WARNING, "Xid to look at", "Xid 999 (not in the catalogue) 25 h ago; NVIDIA's catalogue asks for NVIDIA's support"),
    ("gpu-xid-minor", logged((60, "NVRM: Xid (PCI:0000:10:00): 45, pid=7, name=python3, Ch 00000008")), WARNING, "Xid of the fabric", "a restart of the Fabric Manager"),
    ("gpu-sxid", logged((60, SXID)), CRITICAL, "fatal NVSwitch error", "nvidia-nvswitch0 at 0000:c3:00.0: SXid 24007 (Link 28 sourcetrack timeout error (First)) 1 min ago"),
    ("gpu-sxid", logged((90, SXID_MINOR), (60, SXID_MINOR)), WARNING, "NVSwitch error", "SXid 12028 (Link 32 egress non-posted PRIV error), 2 times, last 1 min ago"),
    ("gpu-ecc-uncorrected", ecc(9, (7200, 2), (300, 7)), CRITICAL, "uncorrectable ECC errors", "GPU 2 at 0000:12:00.0: 2 more in the last 5 min, 9 since it was made"),
    ("gpu-ecc-uncorrected", ecc(9, (7200, 2), (300, 9)), WARNING, "uncorrectable ECC errors", "GPU 2 at 0000:12:00.0: 7 more in the last 2 h, 9 since it was made"),
    ("gpu-ecc-uncorrected", swept(healthy(2, health={"sram_threshold_exceeded": True})), CRITICAL, "ECC threshold exceeded", "it qualifies for replacement"),
    ("gpu-rows-remapped", swept(healthy(2, health={"remap_pending": True, "rows_uncorrected": 1})), WARNING, "row remap pending", "GPU 2 at 0000:12:00.0 (1 after uncorrectable errors, 0 after correctable ones): takes effect with the next reset"),
    ("gpu-rows-remapped", swept(healthy(2, health={"remap_failure": True})), CRITICAL, "row remap failed", "GPU 2 at 0000:12:00.0"),
    ("gpu-rows-remapped", swept(healthy(2, health={"repair_pending": True})), WARNING, "GPU repair pending", "GPU 2"),
    ("gpu-retired-pages", swept(healthy(2, health={"pages_pending": True})), WARNING, "page retirement pending", "GPU 2 at 0000:12:00.0"),
    ("gpu-retired-pages", swept(healthy(2, health={"pages_single_bit": 50, "pages_double_bit": 10})), CRITICAL, "pages retired", "60 pages are retired"),
    ("gpu-throttled", slowed(3, "hw_slowdown", "hw_power_brake_slowdown"), WARNING, "GPU slowed down", "at this moment: GPU 3 at 0000:13:00.0 (slowed down by hardware, power brake)"),
    ("gpu-throttled", slowed(3, "gpu_idle", us=480_000_000, past=counted((600, 0), (300, 10**8))), CRITICAL, "GPU slow for long", "in the last 10 min: GPU 3 at 0000:13:00.0 80 % of it; the limit is 60 %"),
    ("gpu-throttled", slowed(3, "hw_thermal_slowdown", past=seen((600, 1), (300, 1))), CRITICAL, "GPU slow for long", "GPU 3 at 0000:13:00.0 100 % of it (too hot (hardware))"),
    ("gpu-hot", swept(healthy(5, health={"temperature_c": 84, "to_slowdown_c": 5})), WARNING, "GPU hot", "GPU 5 at 0000:15:00.0: it has 84 C, 5 C below where it slows down"),
    ("gpu-hot", swept(healthy(5, health={"temperature_c": 89, "to_slowdown_c": 0})), CRITICAL, "GPU hot", "it has 89 C, at where it slows down"),
    ("gpu-hot", swept(healthy(5, health={"temperature_c": 91, "to_slowdown_c": -2})), CRITICAL, "GPU hot", "it has 91 C, 2 C above where it slows down"),
    ("gpu-hot", swept(healthy(5, health={"memory_c": 93})), WARNING, "GPU hot", "its memory has 93 C, 2 C below its limit"),
    ("gpu-pcie-width", swept(healthy(6, health={"pcie_width": 4})), WARNING, "PCIe link narrow", "GPU 6 at 0000:16:00.0: 4 of 16 lanes"),
    ("gpu-pcie-width", vm(on_host={GPU_PCI: bus(8, NARROW_BELOW)}), WARNING, "PCIe link narrow", "GPU at 0000:13:00.0 of pve-01: 4 of 16 lanes"),
    ("gpu-fabric", swept(healthy(1, fabric="In Progress", health={"fabric_status": ""})), CRITICAL, "fabric not ready", "GPU 1 at 0000:11:00.0: In Progress; CUDA does not initialise"),
    ("gpu-fabric", swept(healthy(1, health={"fabric_status": "Insufficient Resources"})), CRITICAL, "fabric not ready", "Completed, Insufficient Resources"),
    ("gpu-fabric", swept(healthy(1, health={"fabric_health": "Unhealthy"})), CRITICAL, "fabric unhealthy", "GPU 1 at 0000:11:00.0: Unhealthy"),
    ("gpu-fabric", swept(healthy(1, health={"fabric_health": "Limited Capacity"})), WARNING, "fabric unhealthy", "Limited Capacity"),
    ("gpu-fabric", swept(healthy(1, fabric="Dancing")), UNKNOWN, "fabric state not known", "Dancing, Success"),
    ("gpu-nvlink", swept(on_node={NVLINKS: links(gpu_4=0)}), CRITICAL, "NVLinks down", "GPU 4 at 0000:14:00.0: 0 of 18 links up"),
    ("gpu-nvlink", swept(on_node={NVLINKS: links(gpu_2=16)}), CRITICAL, "NVLinks down", "GPU 2 at 0000:12:00.0: 16 of 18 links up"),
    ("gpu-persistence-off", swept(healthy(1, persistence=False), healthy(4, persistence=False)), WARNING, "persistence off", "2 GPUs (1, 4) without persistence mode"),
    ("gpu-mig-unexpected", swept(healthy(1, mig=True), profile=profile()), WARNING, "MIG unexpected", "GPU 1: MIG is on; each rank of hicache48 takes a whole GPU"),
    ("gpu-mig-unexpected", swept(healthy(1, mig=True)), WARNING, "MIG unexpected", "GPU 1: MIG is on; GPU 0, GPU 2"),
    ("gpu-compute-mode", swept(healthy(1, health={"compute_mode": "Exclusive_Process"})), WARNING, "compute mode unexpected", "Exclusive_Process: GPU 1"),
    ("gpu-compute-mode", swept(healthy(1, health={"compute_mode": "Prohibited"})), CRITICAL, "compute mode unexpected", "no process can use a GPU that is prohibited"),
    ("gpu-pci", swept(on_node={GPUS: SEVEN}, on_host={GPUS: eight(count=7), GPU_PCI: bus(7, WITHOUT_DRIVER)}), CRITICAL, "GPU without driver", "on pve-01's PCI bus and not among the GPUs that nvidia-smi reports: 0000:17:00.0 (driver: none)"),
    ("gpu-pci", swept(node=BARE, on_node={GPUS: SEVEN}), CRITICAL, "GPU without driver", "on node-174's PCI bus and not among the GPUs that nvidia-smi reports: 0000:17:00.0 (driver: nvidia)"),
    ("gpu-pci", swept(node=BARE, on_node={GPUS: SEVEN, GPU_PCI: bus(7)}), CRITICAL, "GPU gone from PCI", "7 GPUs on node-174's PCI bus; the inventory states 8"),
    ("gpu-pci", vm(on_node={GPUS: SEVEN, GPU_PCI: bus(7)}), CRITICAL, "GPU gone from PCI", "the inventory states 8; pve-01 passes 8 GPUs to it"),
    ("gpu-pci", swept(node=BARE, on_node={GPU_PCI: bus(7)}), UNKNOWN, "PCI bus not known", "node-174's PCI bus does not list GPUs that answer there (0000:17:00.0)"),
    ("gpu-health-unread", swept(healthy(1, health={"unread": (("remapped_rows/remapped_row_pending", "Perhaps"),)})), UNKNOWN, "GPU health not known", "GPU 1 at 0000:11:00.0: remapped_rows/remapped_row_pending reads 'Perhaps'"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "observation", "severity", "subject", "said"), FAILING)
def test_a_failing_gpu_is_said_so(name, observation, severity, subject, said):
    (finding,) = [one for one in CHECKS[name].judge(observation) if one.subject == subject]
    assert (finding.host, finding.check, finding.severity) == ("node-174", name, severity)
    assert said in finding.evidence
    assert "node-174" in finding.next or "pve-01" in finding.next


@pytest.mark.parametrize("node", [NODE, BARE, IN_VM], ids=["container", "bare", "VM"])
@pytest.mark.parametrize("name", CHECKS)
def test_healthy_gpus_say_nothing(name, node):
    assert CHECKS[name].judge(swept(node=node, profile=profile())) == []


NEEDS = [
    *(
        (name, GPUS, "node-174")
        for name in sorted(set(CHECKS) - {"gpu-xid", "gpu-xid-minor", "gpu-sxid", "gpu-nvlink"})
    ),
    ("gpu-nvlink", NVLINKS, "node-174"),
    ("gpu-pci", GPU_PCI, "pve-01"),
    ("gpu-xid", KERNEL_LOG, "pve-01"),
]


@pytest.mark.parametrize(("name", "key", "where"), NEEDS)
def test_a_missing_fact_is_unknown_and_never_healthy(name, key, where):
    node = {key: missing()} if where == "node-174" else {GPUS: SEVEN}
    host = {key: missing()} if where == "pve-01" or name == "gpu-pci" else {}
    (finding,) = CHECKS[name].judge(swept(on_node=node, on_host=host))
    assert finding.severity is UNKNOWN
    assert "timed out: no answer in 10 s" in finding.evidence


def test_every_check_has_a_failing_case_and_a_missing_fact():
    assert {name for name, *_ in FAILING} == set(CHECKS)
    of_the_same_log = {"gpu-xid-minor", "gpu-sxid"}
    assert {name for name, *_ in NEEDS} | of_the_same_log == set(CHECKS)


def test_what_the_driver_does_not_know_of_a_gpu_says_nothing():
    bare = [
        replace(one, health=type(one.health)(), persistence=None, mig=None, fabric="") for one in eight().gpus
    ]
    assert [one for check in CHECKS.values() for one in check.judge(swept(*bare))] == []


def test_no_two_findings_of_a_check_share_their_subject():
    """A sweep follows a finding by host, check and subject: of two that share it, one would be lost."""
    codes = (31, 46, 54, 61, 79, 95, 109, 119, 151, 43, 45, 999)
    xids = [(60 + 100 * at, f"NVRM: Xid (PCI:0000:10:00): {code}, text") for at, code in enumerate(codes)]
    switch = [(50, SXID), (40, SXID_MINOR)]
    ailing = {
        "remap_pending": True, "remap_failure": True, "repair_pending": True, "pages_pending": True,
        "pages_double_bit": 99, "sram_threshold_exceeded": True, "slowed_by": ("hw_slowdown",), "pcie_width": 1,
        "to_slowdown_c": 0, "fabric_health": "Unhealthy", "compute_mode": "Prohibited", "unread": (("a", "b"),),
    }  # fmt: skip
    other = {"fabric_health": "Limited Capacity", "slowed_by": ("hw_slowdown",)}
    long = past(
        **{
            "gpu-GPU-3-hw-slowdown-seen-count": [(400, 1), (300, 1)],
            "gpu-GPU-3-ecc-uncorrected-count": [(300, 1)],
        }
    )
    third = healthy(3, health=ailing, mig=True, persistence=False, ecc_uncorrected_aggregate=3)
    outside = [healthy(5, fabric="In Progress"), healthy(6, fabric="Dancing")]
    sight = swept(
        third, healthy(4, health=other), *outside, past=long, on_host={KERNEL_LOG: log(*xids, *switch)}
    )
    told = [(one.check, one.subject) for check in CHECKS.values() for one in check.judge(sight)]
    assert len(told) == len(set(told))
    assert {check for check, _ in told} == set(CHECKS) - {"gpu-pci", "gpu-nvlink"}


# What comes next.


@pytest.mark.parametrize(
    ("observation", "name", "command"),
    [
        (logged((5, GSP)), "gpu-xid", "when nothing uses GPU 0, reset it (nvidia-smi -r -i 0000:10:00.0 on pve-01), then fleetops recover node-174"),
        (swept(healthy(0, recovery_action="Reset"), on_host={KERNEL_LOG: log((5, GSP))}), "gpu-xid", "fleetops recover node-174 --dry-run"),
        (logged((5, OFF)), "gpu-xid", "reboot or power-cycle pve-01, then fleetops recover node-174"),
        (swept(node=BARE, on_node={KERNEL_LOG: log((5, OFF))}), "gpu-xid", "reboot or power-cycle node-174, then fleetops recover node-174"),
        (vm(on_node={KERNEL_LOG: log((5, OFF))}), "gpu-xid", "fleetops recover node-174 --dry-run"),
        (vm(on_node={KERNEL_LOG: log((5, "NVRM: Xid (PCI:0000:10:00): 151, Key rotation"))}), "gpu-xid", "fleetops recover node-174 --dry-run"),
        (logged((5, APP)), "gpu-xid-minor", "fleetops probe node-174"),
        (swept(healthy(2, health={"remap_pending": True}, recovery_action="Drain and Reset")), "gpu-rows-remapped", "fleetops recover node-174 --dry-run"),
        (swept(healthy(2, health={"remap_pending": True})), "gpu-rows-remapped", "when nothing uses GPU 2, reset it (nvidia-smi -r -i 0000:12:00.0 on pve-01), then fleetops recover node-174"),
        (swept(healthy(2, health={"remap_failure": True})), "gpu-rows-remapped", "replace GPU 2 at 0000:12:00.0 of pve-01, then fleetops recover node-174"),
        (swept(healthy(2, persistence=False)), "gpu-persistence-off", "fleetops run pve-01 -- nvidia-smi -pm 1"),
        (vm(healthy(2, persistence=False)), "gpu-persistence-off", "fleetops run node-174 -- nvidia-smi -pm 1"),
    ],
)  # fmt: skip
def test_what_comes_next_is_for_the_machine_that_can_do_it(observation, name, command):
    assert [one.next for one in CHECKS[name].judge(observation)] == [command]


# Xids.


def test_xids_of_another_guests_gpus_are_not_the_nodes():
    assert CHECKS["gpu-xid"].judge(logged((5, OF_ANOTHER))) == []


def test_a_gpu_that_has_fallen_out_of_every_list_is_the_nodes_that_lacks_one():
    lacks = {"on_node": {GPUS: SEVEN}, "on_host": {GPUS: SEVEN, KERNEL_LOG: log((5, OFF))}}
    (finding,) = CHECKS["gpu-xid"].judge(swept(**lacks))
    assert "GPU at 0000:17:00.0: Xid 79" in finding.evidence
    gone = eight(count=10)
    others = replace(gone, gpus=tuple(one for one in gone.gpus if one.index != 7))
    of_another = {**lacks, "on_host": {GPUS: others, KERNEL_LOG: log((5, OF_ANOTHER))}}
    assert CHECKS["gpu-xid"].judge(swept(**of_another)) == []


def test_without_the_nodes_gpus_every_xid_of_the_host_counts_and_that_is_said():
    (finding,) = CHECKS["gpu-xid"].judge(logged((5, OF_ANOTHER), on_node={GPUS: missing()}))
    assert "which of pve-01's GPUs are the node's is not known" in finding.evidence


def test_a_lost_gpu_is_not_told_a_second_time():
    lost = replace(SEVEN, lost=(LostGpu(bdf="0000:17:00.0", said="GPU is lost"),))
    assert CHECKS["gpu-xid"].judge(logged((5, OFF), on_node={GPUS: lost})) == []


def test_what_the_driver_asks_for_now_is_another_checks_and_what_it_asked_once_is_over():
    assert CHECKS["gpu-xid"].judge(logged((9, GSP), (5, TO_RESET))) == []
    wants = swept(healthy(0, recovery_action="Reset"), on_host={KERNEL_LOG: log((9, GSP), (5, TO_RESET))})
    (finding,) = CHECKS["gpu-xid"].judge(wants)
    assert "Xid 119" in finding.evidence
    assert "154" not in finding.evidence


def test_a_driver_without_a_verdict_is_believed_by_its_154():
    (finding,) = CHECKS["gpu-xid"].judge(
        swept(healthy(0, recovery_action=""), on_host={KERNEL_LOG: log((5, TO_RESET))})
    )
    assert "GPU Reset Required" in finding.evidence


def test_an_xid_of_an_application_is_forgotten_after_an_hour():
    assert CHECKS["gpu-xid-minor"].judge(logged((3700, APP))) == []
    assert CHECKS["gpu-sxid"].judge(logged((3700, SXID_MINOR))) == []
    assert CHECKS["gpu-sxid"].judge(logged((37_000, SXID))) != []


def test_an_xid_that_asks_for_nothing_is_not_told():
    remapped = "NVRM: Xid (PCI:0000:10:00): 63, pid=1896, Row Remapper: New row marked for remapping"
    for name in ("gpu-xid", "gpu-xid-minor"):
        assert CHECKS[name].judge(logged((5, remapped))) == []


def test_how_far_back_the_log_tells_is_said_and_a_part_of_it_proves_nothing():
    wrapped = log((5, GSP), source="ring", begins_at=NOW - 7200)
    (finding,) = CHECKS["gpu-xid"].judge(swept(on_host={KERNEL_LOG: wrapped}))
    assert "the kernel's log reaches back 2 h only" in finding.evidence


def test_an_xid_that_the_ring_has_lost_is_remembered_until_the_next_boot_or_reset():
    first = logged((900, GSP))
    remembered = gpu_xid.remember(first)
    before = Past(swept_at=NOW - 300, words=remembered.words)
    wrapped = log(source="ring", begins_at=NOW - 60)
    (finding,) = CHECKS["gpu-xid"].judge(swept(past=before, on_host={KERNEL_LOG: wrapped}))
    assert "Xid 119 (GSP RPC Timeout) 15 min ago" in finding.evidence
    assert gpu_xid.remember(swept(past=before, on_host={KERNEL_LOG: wrapped})).words == remembered.words
    booted = {KERNEL_LOG: replace(wrapped, boot_id="another")}
    assert CHECKS["gpu-xid"].judge(swept(past=before, on_host=booted)) == []
    reset = {KERNEL_LOG: log((30, "nvidia 0000:10:00.0: reset done"), source="ring", begins_at=NOW - 60)}
    assert CHECKS["gpu-xid"].judge(swept(past=before, on_host=reset)) == []
    assert gpu_xid.remember(swept(past=before, on_host=reset)).words == {"gpu-xids": ""}


@pytest.mark.parametrize(
    "word", ["{", "[]", '{"boot": "b", "xids": [[1]]}', '{"boot": "b", "xids": 3}', '"b"']
)
def test_a_memory_of_another_form_is_no_memory(word):
    remembered = Past(words={"gpu-xids": word})
    assert CHECKS["gpu-xid"].judge(swept(past=remembered)) == []


def test_an_xid_for_which_the_catalogue_states_nothing_is_told_all_the_same():
    (finding,) = CHECKS["gpu-xid-minor"].judge(logged((9000, "NVRM: Xid (PCI:0000:10:00): 168, text")))
    assert "asks for nothing that the catalogue states" in finding.evidence


def test_a_log_that_could_not_be_read_leaves_what_is_remembered():
    assert gpu_xid.remember(swept(on_host={KERNEL_LOG: missing()})).words == {}


# The recorded report of eight GPUs.


def test_each_trouble_of_the_recorded_report_is_told_by_its_check():
    case = Path(__file__).resolve().parents[1] / "facts/gpus/failing-8-gpus-v13/stdout"
    gpus = GPUS_FACT.read(Outcome(status=0, stdout=case.read_text()))
    sight = swept(on_node={GPUS: gpus}, on_host={GPUS: gpus}, profile=profile())
    told = {(one.check, one.subject) for check in CHECKS.values() for one in check.judge(sight)}
    assert told == {
        ("gpu-rows-remapped", "row remap pending"),
        ("gpu-rows-remapped", "row remap failed"),
        ("gpu-throttled", "GPU slowed down"),
        ("gpu-hot", "GPU hot"),
        ("gpu-pcie-width", "PCIe link narrow"),
        ("gpu-persistence-off", "persistence off"),
        ("gpu-fabric", "fabric unhealthy"),
    }


# Counts over time.


def test_ecc_errors_are_new_against_what_is_remembered_only():
    assert CHECKS["gpu-ecc-uncorrected"].judge(ecc(9)) == []
    assert CHECKS["gpu-ecc-uncorrected"].judge(ecc(9, (300, 9))) == []
    assert CHECKS["gpu-ecc-uncorrected"].judge(ecc(0, (300, 9))) == []
    assert gpu_ecc_uncorrected.remember(ecc(9)).numbers["gpu-GPU-2-ecc-uncorrected-count"] == 9
    untold = swept(healthy(2, ecc_uncorrected_aggregate=None))
    assert "gpu-GPU-2-ecc-uncorrected-count" not in gpu_ecc_uncorrected.remember(untold).numbers


@pytest.mark.parametrize("reason", ["gpu_idle", "sw_power_cap", "applications_clocks_setting", "sync_boost"])
def test_a_gpu_that_is_slowed_down_as_it_should_be_says_nothing(reason):
    assert CHECKS["gpu-throttled"].judge(slowed(3, reason)) == []


def test_a_slowdown_counts_by_its_part_of_the_time():
    def severities(observation):
        return [one.severity for one in CHECKS["gpu-throttled"].judge(observation)]

    assert severities(slowed(3, "gpu_idle", us=350_000_000, past=counted((600, 0)))) == []
    assert severities(slowed(3, "gpu_idle", us=360_000_000, past=counted((600, 0)))) == [CRITICAL]
    assert severities(slowed(3, "gpu_idle", us=480_000_000, past=counted((9000, 0)))) == []
    assert severities(slowed(3, "gpu_idle", us=100, past=counted((600, 480_000_000)))) == []
    assert severities(slowed(3, "hw_slowdown", past=seen((300, 1)))) == [WARNING]
    assert severities(slowed(3, "hw_slowdown", past=seen((600, 0), (300, 0)))) == [WARNING]


def test_the_drivers_counter_is_remembered_where_it_has_one():
    assert gpu_throttled.remember(slowed(3, "gpu_idle", us=7)).numbers["gpu-GPU-3-hw-slowdown-us"] == 7
    numbers = gpu_throttled.remember(slowed(3, "hw_slowdown")).numbers
    assert numbers["gpu-GPU-3-hw-slowdown-seen-count"] == 1
    assert numbers["gpu-GPU-2-hw-slowdown-seen-count"] == 0


# PCI.


def test_an_idle_gpu_may_lower_its_generation_and_a_card_may_have_fewer_lanes():
    assert CHECKS["gpu-pcie-width"].judge(swept(healthy(6, health={"pcie_gen": 1}))) == []
    small = {"pcie_width": 8, "pcie_width_max": 8}
    assert CHECKS["gpu-pcie-width"].judge(swept(healthy(6, health=small))) == []


def test_the_width_that_a_guest_sees_is_not_believed():
    assert CHECKS["gpu-pcie-width"].judge(vm(healthy(6, health={"pcie_width": 8}))) == []
    (finding,) = CHECKS["gpu-pcie-width"].judge(vm(on_host={GPU_PCI: missing()}))
    assert finding.severity is UNKNOWN


def test_another_guests_gpu_without_driver_is_not_a_container_s_that_has_all_of_its_own():
    other = PciGpu(bdf="0000:1a:00.0", device="2335")
    assert CHECKS["gpu-pci"].judge(swept(on_host={GPU_PCI: bus(10, other)})) == []


def test_a_gpu_that_is_passed_to_a_vm_lacks_no_driver():
    passed = PciGpu(bdf="0000:1a:00.0", driver="vfio-pci")
    lacking_one = {"on_node": {GPUS: SEVEN}, "on_host": {GPUS: eight(count=10), GPU_PCI: bus(10, passed)}}
    assert CHECKS["gpu-pci"].judge(swept(**lacking_one)) == []


def test_a_lost_gpu_is_on_the_bus_and_not_without_driver():
    lost = replace(SEVEN, lost=(LostGpu(bdf="0000:17:00.0", said="GPU is lost"),))
    assert CHECKS["gpu-pci"].judge(swept(node=BARE, on_node={GPUS: lost})) == []


def test_a_mapping_that_nothing_resolves_leaves_open_what_is_passed():
    config = {"hostpci0": "mapping=h200,pcie=1"}
    state = GuestState(kind="vm", id=174, status="running", config=config)
    assert CHECKS["gpu-pci"].judge(vm(on_host={GUEST: state})) == []
    claim = DeviceClaim(guest_id=174, kind="vm", minors=(), addresses=("0000:10:00.0",))
    narrow = PciGpu(bdf="0000:10:00.0", driver="vfio-pci", width=8, width_max=16)
    told = {GUEST: state, CLAIMS: (claim,), GPU_PCI: bus(8, narrow, NARROW_BELOW)}
    (finding,) = CHECKS["gpu-pcie-width"].judge(vm(on_host=told))
    assert "0000:10:00.0" in finding.evidence
    assert "0000:13:00.0" not in finding.evidence


# NVLink.


def test_links_are_judged_by_the_neighbours_and_the_past_of_a_gpu():
    def judged(up, **more):
        return CHECKS["gpu-nvlink"].judge(
            swept(on_node={NVLINKS: links(**up), **more.pop("facts", {})}, **more)
        )

    everywhere = {f"gpu_{at}": 12 for at in range(8)}
    assert judged(everywhere) == []
    (fewer,) = judged(everywhere, past=past(**{"gpu-GPU-3-nvlinks-up-count": [(9000, 18), (300, 12)]}))
    assert fewer.evidence == "GPU 3 at 0000:13:00.0: 12 of 18 links up"
    none = {f"gpu_{at}": 0 for at in range(8)}
    assert judged(none) == []
    (all_down,) = judged(none, facts={DEVICE_SERVICES: DeviceServices(switches=4)})
    assert "GPU 0 at 0000:10:00.0: 0 of 1 links up" in all_down.evidence


def test_a_card_of_another_model_may_have_other_links():
    other = swept(healthy(4, name="NVIDIA L4"), on_node={NVLINKS: links(gpu_4=4)})
    assert CHECKS["gpu-nvlink"].judge(other) == []


def test_links_that_were_not_asked_for_are_not_unknown():
    seen = swept()
    readings = {name: value for name, value in seen.node_facts.readings.items() if name != NVLINKS.name}
    unasked = replace(seen, node_facts=replace(seen.node_facts, readings=readings))
    assert CHECKS["gpu-nvlink"].judge(unasked) == []


def test_how_many_links_are_up_is_remembered():
    numbers = gpu_nvlink.remember(swept(on_node={NVLINKS: links(gpu_4=0)})).numbers
    assert (numbers["gpu-GPU-4-nvlinks-up-count"], numbers["gpu-GPU-5-nvlinks-up-count"]) == (0, 18)


def test_a_machine_without_a_pci_bus_is_unknown():
    gap = missing(Gap.ABSENT, "this machine has no PCI bus")
    (finding,) = CHECKS["gpu-pci"].judge(swept(node=BARE, on_node={GPU_PCI: gap}))
    assert finding.severity is UNKNOWN


def test_samples_of_the_future_do_not_confuse_a_clock_that_was_set_back():
    ahead = Past(series={"gpu-GPU-3-hw-slowdown-us": (Sample(at=NOW + 60, value=0),)})
    assert CHECKS["gpu-throttled"].judge(slowed(3, "gpu_idle", us=10**9, past=ahead)) == []


def test_while_a_lost_gpu_keeps_the_others_from_being_told_they_are_not_called_without_driver():
    hidden = Gpus(
        driver_version="570.133.20",
        gpus=(),
        lost=(LostGpu(bdf="0000:17:00.0", said="GPU is lost"),),
        listed=7,
    )
    sight = swept(node=BARE, on_node={GPUS: hidden, NVLINKS: missing()})
    assert CHECKS["gpu-pci"].judge(sight) == []
    assert CHECKS["gpu-nvlink"].judge(sight) == []
    assert [one.check for one in gpu_lost.CHECK.judge(sight)] == ["gpu-lost"]


def test_what_keeps_the_gpus_from_being_read_is_not_told_of_their_links_again():
    told = CHECKS["gpu-nvlink"].judge(swept(on_node={GPUS: missing(), NVLINKS: missing()}))
    assert [one.subject for one in told] == ["gpus not known"]
