"""A controller that cannot write down what it does refuses before its first change."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import CommandLine, Ran, clean_environment

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


def ran_within(prefix: list[str], command: CommandLine, *words: str) -> Ran:
    """The command line as another program starts it."""
    done = subprocess.run(
        [*prefix, *command.argv(*words)],
        capture_output=True,
        text=True,
        cwd=command.cwd,
        env=clean_environment() | {"PYTHONDONTWRITEBYTECODE": "1"},
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert "defect" not in done.stderr, done.stderr
    return Ran(done.returncode, done.stdout, done.stderr)


# Root without the right to write where its folder's mode forbids it, which a plain user has not got anyway.
_NOT_ALLOWED = ["setpriv", "--bounding-set=-all,+dac_read_search,+sys_ptrace", "--"]
# $1 a folder of 128 kB that gets what $2 holds, and is full then; the rest is what runs with it.
_FULL = r"""
mount -t tmpfs -o size=128k tmpfs "$1" && cp -a "$2"/. "$1" || exit 99
head -c 1000000 /dev/zero > "$1/filler" 2> /dev/null
shift 2
exec "$@"
"""
# What only reads goes on, each with what it must show.
_READS = (
    (("probe", NODE), NODE),
    (("reset-gpus", NODE, "--dry-run"), "reset GPUs"),
    (("recover", NODE, "--dry-run"), "reset GPUs"),
    (("explain", "hicache_size", NODE), "GB per rank"),
    (("grep-source", "hicache_size", NODE), "hicache_size"),
    (("runs",), ""),
)
_CHANGES = (("reset-gpus", NODE), ("recover", NODE), ("kill", NODE), ("launch", "--profile", "small", NODE))


@pytest.fixture
def state(tmp_path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    yield folder
    folder.chmod(0o700)


def read_only(command: CommandLine, state: Path) -> list[str]:
    state.chmod(0o500)
    return _NOT_ALLOWED if os.geteuid() == 0 else []


def full(command: CommandLine, state: Path) -> list[str]:
    """A disk of its own; what is remembered already fits, and nothing else."""
    kept = state.with_name("kept")
    shutil.copytree(state, kept)
    own = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", "--mount", *own, "sh", "-c", _FULL, "full", str(state), str(kept)]


@pytest.mark.usefixtures("held")
@pytest.mark.parametrize("how", [read_only, full])
@pytest.mark.parametrize("known", [False, pytest.param(True, marks=pytest.mark.long)], ids=["new", "known"])
def test_where_nothing_can_be_written_nothing_is_changed_and_reading_goes_on(
    fleet, state, how, known, request
):
    command = elsewhere(fleet, state, state.with_name("inventory"))
    if known:
        command("probe", NODE)
    prefix = how(command, state)
    whole = "long" in request.config.option.markexpr
    for words in _CHANGES if whole else _CHANGES[:1]:
        ran = ran_within(prefix, command, *words, "--yes")
        assert ran.status == 4, ran
        assert re.search(
            r"cannot be written in .*/state/fleetops.db: (attempt to write|unable|.*full)", ran.stderr
        ), ran
        assert "FLEETOPS_STATE" in ran.stderr
    for words, shown in _READS if whole else _READS[:1]:
        ran = ran_within(prefix, command, *words)
        assert ran.status in {0, 1}, ran
        assert shown in ran.stdout, ran
        warned = ran.stderr.count("what is seen now is not remembered")
        assert warned == (not known and words[0] in {"probe", "reset-gpus", "recover"}), ran.stderr
