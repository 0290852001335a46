"""The PCI bus of the lab's machines, read as a real one is."""

import subprocess

import pytest

from fleetops.facts.gpu_pci import FACT, SCRIPT
from fleetops.lab.fleet import FLEET, gpus_of, lab_host
from fleetops.lab.pci import DEVICES, write_bus
from fleetops.model.command import Outcome


def read(disk):
    done = subprocess.run(
        ["sh", "-c", SCRIPT, "fleetops", str(disk / DEVICES)], check=False, capture_output=True, text=True
    )
    return FACT.read(Outcome(status=done.returncode, stdout=done.stdout))


@pytest.mark.parametrize("host", [host for host in FLEET if gpus_of(host)], ids=lambda host: host.name)
def test_a_machine_has_the_gpus_of_its_driver_on_its_bus(tmp_path, host):
    write_bus(tmp_path, host)
    assert {gpu.bdf for gpu in read(tmp_path)} == {gpu.bdf[4:].lower() for gpu in gpus_of(host)}
    assert {(gpu.driver, gpu.width, gpu.width_max) for gpu in read(tmp_path)} == {("nvidia", 16, 16)}


def test_a_hypervisor_has_the_gpus_that_it_passes_to_vms(tmp_path):
    write_bus(tmp_path, lab_host("pve-02"))
    assert [(gpu.bdf, gpu.driver) for gpu in read(tmp_path)] == [
        ("0000:41:00.0", "vfio-pci"),
        ("0000:42:00.0", "vfio-pci"),
    ]
