"""A controller that cannot write down what it does refuses before its first change."""

import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import CommandLine, clean_environment

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.gpu_memory_held import hold_gpu_memory

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]
NODE = "node-175"


@pytest.fixture
def held(fleet):
    """GPU memory that a reset would free; the test ends with it as it was."""
    node = BrokenNode(fleet.lab.folder, NODE)
    node.clear()
    hold_gpu_memory(node)
    before = gpu_use(fleet)
    yield
    assert gpu_use(fleet) == before
    node.clear()


def gpu_use(fleet):
    facts = fleet.look(NODE).hypervisor_facts
    return [gpu.memory_used_bytes for gpu in facts.readings["gpus"].gpus]


def elsewhere(fleet, state: Path, folder: Path) -> CommandLine:
    """The command line with another state folder in its inventory."""
    shutil.copytree(fleet.lab.inventory, folder)
    settings = [path for path in folder.glob("*.yaml") if "state:" in path.read_text()]
    for path in settings:
        lines = path.read_text().splitlines()
        changed = [
            f"{line.partition('state:')[0]}state: {state}" if "state:" in line else line for line in lines
        ]
        path.write_text("\n".join(changed) + "\n")
    assert settings
    return CommandLine(folder, folder)


def test_a_state_folder_that_cannot_be_written_refuses_the_run(fleet, held, tmp_path):
    # Not even root makes a folder there.
    ran = elsewhere(fleet, Path("/sys/fleetops"), tmp_path / "inventory")("reset-gpus", NODE, "--yes")
    assert ran.status != 0
    assert "cannot make the state folder /sys/fleetops" in ran.stderr


def test_a_full_disk_refuses_the_run_before_its_first_change(fleet, held, tmp_path):
    state = tmp_path / "state"
    state.mkdir()
    command = elsewhere(fleet, state, tmp_path / "inventory")
    command("probe", NODE)  # what is remembered of the node has its room already
    ran = subprocess.run(
        ["prlimit", "--fsize=0", *command.argv("reset-gpus", NODE, "--yes")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=clean_environment() | {"PYTHONDONTWRITEBYTECODE": "1"},
        timeout=120,
        check=False,
    )
    assert ran.returncode != 0, ran
    assert "Traceback" not in ran.stderr
    assert "free some disk" in ran.stderr, ran
