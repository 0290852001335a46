"""The script that looks for GPUs on the PCI bus, run by real shells over a bus laid out in files."""

import shutil
import subprocess

import pytest

from fleetops.facts.gpu_pci import FACT, SCRIPT
from fleetops.model.command import Outcome
from fleetops.model.fact import Gap, Missing

SHELLS = [("dash",), ("busybox", "sh"), ("bash", "--posix")]


def device(bus, bdf, *, vendor="0x10de", kind="0x030200", driver="", **words):
    folder = bus / bdf
    folder.mkdir(parents=True)
    for name, text in {"vendor": vendor, "class": kind, "device": "0x2335", **words}.items():
        (folder / name).write_text(f"{text}\n")
    if driver:
        (bus.parent / "drivers" / driver).mkdir(parents=True, exist_ok=True)
        (folder / "driver").symlink_to(f"../../drivers/{driver}")


@pytest.fixture
def bus(tmp_path):
    folder = tmp_path / "devices"
    folder.mkdir()
    return folder


@pytest.fixture(params=SHELLS, ids=lambda shell: shell[0])
def read(request):
    if shutil.which(request.param[0]) is None:
        pytest.skip(f"there is no {request.param[0]} here")

    def read(folder):
        done = subprocess.run(
            [*request.param, "-c", SCRIPT, "fleetops", str(folder)],
            check=False, capture_output=True, text=True, timeout=20,
        )  # fmt: skip
        assert done.stderr == ""
        return FACT.read(Outcome(status=done.returncode, stdout=done.stdout))

    return read


def test_gpus_are_told_from_what_else_is_on_the_bus(bus, read):
    wide = {"current_link_width": "16", "max_link_width": "16"}
    device(bus, "0000:1a:00.0", driver="nvidia", **wide)
    device(bus, "0000:1a:00.1", kind="0x040300", driver="snd_hda_intel")
    device(bus, "0000:05:00.0", kind="0x068000", driver="nvidia-nvswitch")
    device(
        bus, "0000:41:00.0", kind="0x030000", driver="vfio-pci", current_link_width="8", max_link_width="16"
    )
    device(bus, "0000:00:02.0", vendor="0x8086", kind="0x030000")
    device(bus, "0000:2a:00.0")
    seen = [(gpu.bdf, gpu.driver, gpu.width, gpu.width_max) for gpu in read(bus)]
    assert seen == [
        ("0000:1a:00.0", "nvidia", 16, 16),
        ("0000:2a:00.0", "", None, None),
        ("0000:41:00.0", "vfio-pci", 8, 16),
    ]


def test_a_link_that_is_gone_has_no_width(bus, read):
    device(bus, "0000:1a:00.0", driver="nvidia", current_link_width="63", max_link_width="255")
    (gpu,) = read(bus)
    assert (gpu.width, gpu.width_max) == (None, None)


def test_a_bus_without_gpus_has_none(bus, read):
    device(bus, "0000:00:02.0", vendor="0x8086")
    assert read(bus) == ()


def test_an_empty_bus_has_none(bus, read):
    assert read(bus) == ()


def test_a_machine_without_pci_is_told_from_one_without_gpus(bus, read):
    gap = read(bus / "nowhere")
    assert isinstance(gap, Missing)
    assert gap.gap is Gap.ABSENT
