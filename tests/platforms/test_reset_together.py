"""Which GPUs one reset must name, by their generation; an unknown one stops and asks."""

import pytest
from node_scenes import gpu, missing

from fleetops.model.device_service import DEVICE_SERVICES, DeviceService, DeviceServices
from fleetops.model.errors import Refused
from fleetops.model.fact import Facts
from fleetops.model.gpu import GPUS, Gpus
from fleetops.platforms.support.nvlink import generation, reset_set

NO_SWITCHES = DeviceServices()
FABRIC_MANAGER = DeviceServices(services=(DeviceService(unit="nvidia-fabricmanager.service"),), switches=6)


def cards(name, architecture="", count=4):
    return tuple(gpu(index, name=name, architecture=architecture) for index in range(count))


def chosen(wanted, own, on_host=(), services=NO_SWITCHES):
    readings = {GPUS.name: Gpus(driver_version="570", gpus=on_host or own), DEVICE_SERVICES.name: services}
    return [one.uuid for one in reset_set(wanted, own, Facts("pve-01", 0.0, readings))]


@pytest.mark.parametrize(
    ("name", "architecture"),
    [
        ("NVIDIA H200", "Hopper"),
        ("NVIDIA B200", "Blackwell"),
        ("NVIDIA L40S", "Ada Lovelace"),
        ("NVIDIA H20", ""),
        ("Tesla T4", "Turing"),
        ("Tesla P40", ""),
    ],
)
def test_later_generations_and_cards_without_nvlink_are_reset_alone(name, architecture):
    own = cards(name, architecture)
    assert chosen(own[1:2], own) == ["GPU-1"]


@pytest.mark.parametrize(
    ("name", "architecture"), [("Tesla V100-SXM2-32GB", "Volta"), ("Tesla P100-SXM2-16GB", "")]
)
def test_before_ampere_all_that_nvlink_may_connect_are_reset_together(name, architecture):
    own = cards(name, architecture)
    assert chosen(own[1:2], own) == ["GPU-0", "GPU-1", "GPU-2", "GPU-3"]


def test_a_linked_gpu_of_somebody_else_refuses():
    own = cards("Tesla V100-SXM2-32GB", "Volta")
    with pytest.raises(Refused, match="2 of these on pve-01 are not the node's"):
        chosen(own[:1], own[:2], on_host=own)


def test_on_amperes_nvswitch_machines_fabric_manager_must_run():
    own = cards("NVIDIA A100-SXM4-80GB", "Ampere")
    assert chosen(own[:1], own, services=FABRIC_MANAGER) == ["GPU-0"]
    with pytest.raises(Refused, match="only while Fabric Manager runs"):
        chosen(own[:1], own, services=DeviceServices(switches=6))
    assert chosen(own[:1], own, services=DeviceServices()) == ["GPU-0"]
    with pytest.raises(Refused, match="could not be read"):
        chosen(own[:1], own, services=missing())


@pytest.mark.parametrize(
    ("name", "architecture"), [("NVIDIA X900", "Feynman"), ("NVIDIA X900", ""), ("", "")]
)
def test_a_generation_that_is_not_known_stops_and_asks(name, architecture):
    own = cards(name, architecture)
    with pytest.raises(Refused, match=r"generation of GPU .* is not known"):
        chosen(own[:1], own)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("NVIDIA A100-SXM4-80GB", "Ampere"),
        ("NVIDIA RTX 4000 SFF Ada Generation", "Ada Lovelace"),
        ("NVIDIA A10G", "Ampere"),
        ("NVIDIA GeForce RTX 2080 SUPER", "Turing"),
        ("NVIDIA GeForce GTX 1080 Ti", "Pascal"),
        ("NVIDIA H20", "Hopper"),
        ("NVIDIA GB200", "Blackwell"),
    ],
)
def test_an_old_drivers_card_is_known_by_its_name(name, known):
    assert generation(gpu(0, name=name, architecture="")) == known
