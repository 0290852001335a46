"""What the lab's nvidia-smi tells of a GPU's health is what the facts read: all of it, and nothing that is not known."""

from dataclasses import replace

from fleetops.facts import gpus, nvlink
from fleetops.lab.driver import GpuState
from fleetops.lab.fleet import gpus_of, lab_host
from fleetops.lab.tools.smi_query import links
from fleetops.lab.tools.smi_view import View
from fleetops.lab.tools.smi_xml import report
from fleetops.model.command import Outcome

HEALTHY, OTHER = (
    View(index=at, gpu=gpu, state=GpuState(), used_mib=gpu.idle_mib, clients=())
    for at, gpu in enumerate(gpus_of(lab_host("node-190")))
)
AILING = replace(
    OTHER,
    state=GpuState(
        temperature_c=87,
        slowed_by=("hw_slowdown", "hw_thermal_slowdown"),
        lanes=8,
        nvlinks=16,
        remap_pending=True,
    ),
)


def test_a_healthy_gpu_is_told_whole_and_in_known_words() -> None:
    one, _ = gpus.parse(Outcome(status=0, stdout=report([HEALTHY, OTHER], 2))).gpus
    health = one.health
    assert health.unread == ()
    assert one.failing == ()
    assert (health.slowed_by, health.remap_pending, health.sram_threshold_exceeded) == ((), False, False)
    assert (health.pcie_width, health.pcie_width_max, health.to_slowdown_c) == (16, 16, 61)
    assert (one.fabric, health.fabric_status, health.fabric_health) == ("Completed", "Success", "Healthy")


def test_an_ailing_gpu_is_told_as_it_is() -> None:
    _, one = gpus.parse(Outcome(status=0, stdout=report([HEALTHY, AILING], 2))).gpus
    health = one.health
    assert health.slowed_by == ("hw_slowdown", "hw_thermal_slowdown")
    assert (health.pcie_width, health.temperature_c, health.to_slowdown_c) == (8, 87, 2)
    assert (health.remap_pending, health.rows_uncorrected) == (True, 1)


def test_links_that_are_down_are_told_as_inactive() -> None:
    whole, fewer = nvlink.parse(Outcome(status=0, stdout=links([HEALTHY, AILING])))
    assert (whole.up, fewer.up, len(fewer.rates)) == (18, 16, 18)
