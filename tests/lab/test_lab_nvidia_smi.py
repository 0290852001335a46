"""nvidia-smi of the lab: what the driver tells from where, and when it refuses a reset."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
from lab_access import Inside, Sh

from fleetops.lab import driver
from fleetops.lab.api import Lab
from fleetops.lab.fleet import gpus_of, lab_host
from fleetops.lab.paths import Layout

IN_USE = """\
The following GPUs could not be reset:
  GPU 00000000:BD:00.0: In use by another client

1 device is currently being used by one or more other processes (e.g. Fabric
Manager, CUDA application, graphics application such as an X server, or a
monitoring application such as another instance of nvidia-smi). Please first kill
all processes using this device and all compute applications running in the
system.
"""


@pytest.fixture
def bare(lab: Lab) -> driver.Driver:
    """The driver of node-190, where nobody else works, seen from outside."""
    return driver.Driver(Layout(lab.folder).run("node-190") / "driver")


@pytest.fixture
def persistence_off(sh: Sh) -> Iterator[None]:
    sh("node-190", "nvidia-smi -pm 0")
    yield
    sh("node-190", "nvidia-smi -pm 1")


def test_the_list_and_the_query_agree(sh: Sh) -> None:
    uuids = [gpu.uuid for gpu in gpus_of(lab_host("pve-01"))]
    assert sh("node-174", "nvidia-smi -L").splitlines() == [
        f"GPU {n}: NVIDIA H20 (UUID: {uuid})" for n, uuid in enumerate(uuids[:8])
    ]
    told = sh("node-175", "nvidia-smi --query-gpu=index,uuid,memory.total --format=csv").splitlines()
    assert told[0] == "index, uuid, memory.total [MiB]"
    assert told[1:] == [f"{n}, {uuid}, 97871 MiB" for n, uuid in enumerate(uuids[8:])]
    bare = sh("node-175", "nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits -i 1")
    assert bare == "97871"


def test_the_report_is_xml_with_what_a_parser_needs(sh: Sh) -> None:
    root = ET.fromstring(sh("pve-01", "nvidia-smi -q -x").split("?>", 1)[1].split(">", 1)[1])
    assert root.findtext("attached_gpus") == "10"
    gpu = root.findall("gpu")[3]
    assert gpu.get("id") == gpu.findtext("pci/pci_bus_id") == "00000000:3B:00.0"
    expected = {
        "minor_number": "3",
        "persistence_mode": "Enabled",
        "mig_mode/current_mig": "Disabled",
        "ecc_mode/current_ecc": "Enabled",
        "display_active": "Disabled",
        "gpu_recovery_action": "None",
        "fb_memory_usage/reserved": "1577 MiB",
    }
    assert {path: gpu.findtext(path) for path in expected} == expected


def test_an_unknown_field_spoils_the_whole_query(inside: Inside) -> None:
    done = inside("node-190", "nvidia-smi", "--query-gpu=index,nonsense", "--format=csv")
    assert done.returncode == 2
    assert "nonsense" in done.stdout


def test_a_gpu_that_is_not_there(inside: Inside) -> None:
    assert inside("node-190", "nvidia-smi", "-i", "7", "-L").returncode == 6


def test_a_container_may_not_reset(inside: Inside) -> None:
    done = inside("node-174", "nvidia-smi", "--gpu-reset")
    assert done.returncode == 4
    assert "Insufficient Permissions" in done.stderr


def test_persistence_mode_blocks_a_reset(inside: Inside, sh: Sh) -> None:
    uuid = sh("pve-01", "nvidia-smi --query-gpu=uuid --format=csv,noheader -i 8")
    done = inside("pve-01", "nvidia-smi", "--gpu-reset", "-i", uuid)
    assert (done.returncode, done.stdout) == (255, IN_USE)


def test_an_open_device_file_blocks_a_reset(inside: Inside, sh: Sh, persistence_off: None) -> None:
    holder = sh("node-190", "setsid sleep 60 </dev/nvidia1 >/dev/null 2>&1 & echo $!")
    done = inside("node-190", "nvidia-smi", "-r")
    assert done.returncode == 255
    assert "00000000:1A:00.0: In use" in done.stdout
    assert "00000000:0F:00.0" not in done.stdout
    sh("node-190", f"kill {holder}")


def test_a_process_in_a_container_blocks_the_reset_outside(inside: Inside, sh: Sh) -> None:
    holder = sh("node-175", "setsid sleep 60 </dev/nvidia9 >/dev/null 2>&1 & echo $!")
    sh("pve-01", "nvidia-smi -pm 0 -i 9")
    try:
        assert inside("pve-01", "nvidia-smi", "-r", "-i", "9").returncode == 255
    finally:
        sh("node-175", f"kill {holder}")
        sh("pve-01", "nvidia-smi -pm 1 -i 9")


def test_a_reset_frees_what_leaked_and_says_so(
    bare: driver.Driver, inside: Inside, sh: Sh, persistence_off: None
) -> None:
    bare.ledger.leak(guest="host", comm="gone", host_bytes=10**9, gpu_mib={1: 5000})
    bare.set_state(1, recovery_action="Reset")
    before = bare.state(1).resets
    query = "nvidia-smi --query-gpu=memory.used,gpu_recovery_action --format=csv,noheader,nounits"
    assert sh("node-190", query).splitlines()[1] == "5000, Reset"
    done = inside("node-190", "nvidia-smi", "--gpu-reset", "-i", "0,1")
    assert done.stdout == (
        "GPU 00000000:0F:00.0 was successfully reset.\nGPU 00000000:1A:00.0 was successfully reset.\nAll done.\n"
    )
    assert sh("node-190", query).splitlines()[1] == "0, None"
    assert bare.state(1).resets == before + 1


def test_a_process_is_told_by_the_pid_of_whoever_asks(sh: Sh) -> None:
    take = (
        "import sys; sys.path.insert(0, '/opt/fleetops-lab/lib')\n"
        "import os, pathlib, time; from fleetops.lab.driver import Ledger\n"
        "with Ledger().take('trainer') as entry:\n"
        "    entry.set(gpu_mib={9: 777}); pathlib.Path('/root/taken').touch(); time.sleep(60)\n"
    )
    inner = sh(
        "node-175",
        f'setsid python3 -c "{take}" >/dev/null 2>&1 & until test -e /root/taken; do sleep 0.05; done; echo $!',
    )
    try:
        apps = "nvidia-smi --query-compute-apps=pid,process_name,used_gpu_memory --format=csv,noheader"
        lines = [line for line in sh("pve-01", apps).splitlines() if "trainer" in line]
        assert len(lines) == 1
        outer = lines[0].split(",")[0]
        assert sh("pve-01", f"grep ^NSpid: /proc/{outer}/status").split()[1:] == [outer, inner]
        assert "trainer" not in sh("node-175", apps)
    finally:
        sh("node-175", f"kill -9 {inner}; rm /root/taken")


@pytest.fixture
def lost(bare: driver.Driver) -> Iterator[None]:
    """node-190's first GPU off the bus."""
    bare.set_state(0, lost=True)
    yield
    bare.set_state(0, lost=False)


def test_a_lost_gpu_is_complained_of_in_the_list_and_ends_everything_else(inside: Inside, lost: None) -> None:
    complaint = (
        "Unable to determine the device handle for GPU 0000:0F:00.0: GPU is lost. "
        "Reboot the system to recover this GPU\n"
    )
    listed = inside("node-190", "nvidia-smi", "-L")
    assert listed.stdout.startswith(f"{complaint}GPU 1: NVIDIA H20 (UUID: GPU-")
    for asked in (["-q", "-x"], ["--query-gpu=index", "--format=csv"], ["-r"], []):
        done = inside("node-190", "nvidia-smi", *asked)
        assert (done.stdout, done.returncode) == (complaint, 15)
    other = inside("node-190", "nvidia-smi", "-i", "1", "--query-gpu=index", "--format=csv,noheader")
    assert (other.stdout, other.returncode) == ("1\n", 0)


def test_a_library_of_another_release(bare: driver.Driver, inside: Inside) -> None:
    bare.set_faults(mismatch=["host"])
    try:
        done = inside("node-190", "nvidia-smi")
        assert done.stdout.startswith("Failed to initialize NVML: Driver/library version mismatch\n")
        assert done.returncode != 0
    finally:
        bare.set_faults(mismatch=[])


def test_a_reset_that_fails_names_the_gpu(
    bare: driver.Driver, inside: Inside, sh: Sh, persistence_off: None
) -> None:
    bare.set_state(1, reset_fails=True)
    try:
        done = inside("node-190", "nvidia-smi", "-r")
        assert done.returncode == 255
        assert "GPU 00000000:0F:00.0 was successfully reset." in done.stdout
        assert "could not be reset:\n  GPU 00000000:1A:00.0: Unknown Error" in done.stdout
    finally:
        bare.set_state(1, reset_fails=False)


def test_the_persistence_daemon_holds_the_gpus_whose_mode_is_on(inside: Inside, sh: Sh) -> None:
    reset = ("nvidia-smi", "-r", "-i", "0")
    assert inside("node-190", "nvidia-persistenced").returncode == 0
    pid = sh("node-190", "cat /run/nvidia-persistenced/nvidia-persistenced.pid")
    held = f"ls -l /proc/{pid}/fd | grep -c '/dev/nvidia[0-9]'"
    try:
        assert sh("node-190", f"cat /proc/{pid}/comm") == "nvidia-persiste"
        assert sh("node-190", held) == "2"
        assert inside("node-190", *reset).returncode == 255
        sh("node-190", "nvidia-smi -pm 0 -i 0")
        sh("node-190", f"until [ $({held}) = 1 ]; do sleep 0.02; done")
        assert inside("node-190", *reset).returncode == 0
    finally:
        sh("node-190", f"kill {pid}; while [ -e /proc/{pid} ]; do sleep 0.02; done")
    mode = "nvidia-smi --query-gpu=persistence_mode --format=csv,noheader"
    assert set(sh("node-190", mode).split()) == {"Disabled"}, "it goes with the daemon"
    sh("node-190", "nvidia-smi -pm 1")


def test_no_driver_no_gpus(inside: Inside) -> None:
    assert inside("pve-02", "nvidia-smi").returncode != 0


def test_the_tools_are_found_first(sh: Sh) -> None:
    assert Path(sh("node-174", "command -v nvidia-smi")) == Path("/opt/fleetops-lab/bin/nvidia-smi")
