"""nvidia-smi that hangs in the driver, with real processes in state D: there is never a second one beside it."""

import sys

import pytest

from fleetops.facts import gpus
from fleetops.model.command import Outcome
from fleetops.model.fact import Gap, Missing
from fleetops.model.gpu import DRIVER_UNRESPONSIVE

ANSWERS = """#!/bin/sh
echo started >> {folder}/started
echo "$@"
"""
# The parent of a vfork is in D until its child execs, and that waits for a writer of a FIFO.
HANGS = """#!{python} -S
import os, pathlib
pathlib.Path("{folder}/started").write_text("started\\n")
print("<?xml", flush=True)
os.mkfifo("/dev/nvidia-hangs")
os.posix_spawn("/bin/true", ["true"], {{}}, file_actions=[
    (os.POSIX_SPAWN_CLOSE, 1), (os.POSIX_SPAWN_CLOSE, 2),
    (os.POSIX_SPAWN_OPEN, 0, "/dev/nvidia-hangs", os.O_RDONLY, 0),
])
"""


@pytest.fixture
def smi(host, tmp_path):
    """What stands in for nvidia-smi in the small host: install it, run it as the fact does, see whether it was started."""

    class Smi:
        started = tmp_path / "started"

        def install(self, text):
            path = tmp_path / "nvidia-smi"
            path.write_text(text.format(folder=tmp_path, python=sys.executable))
            path.chmod(0o755)

        def ask(self, deadline_s=20.0, old_s=1):
            """Through a file: one that hangs keeps what it writes to open, and nobody waits for it to close that."""
            argv = gpus.ask("-q", "-x", old_s=old_s).argv
            into = [
                "sh",
                "-c",
                'file=$1; shift; timeout -k 2 "$@" > "$file" 2>&1',
                "sh",
                str(tmp_path / "said"),
            ]
            done = host.run([*into, str(deadline_s), *argv], PATH=f"{tmp_path}:/usr/bin:/bin")
            return Outcome(status=done.status, stdout=(tmp_path / "said").read_text(), stderr="")

    return Smi()


def test_beside_one_that_hangs_no_second_one_is_started(host, smi):
    pid, _ = host.start("stuck", wait=False, comm="nvidia-smi")
    host.wait_for_state(pid, "D")
    smi.install(ANSWERS)
    reading = gpus.FACT.read(smi.ask())
    assert isinstance(reading, Missing)
    assert (reading.gap, reading.reason) == (Gap.TIMED_OUT, DRIVER_UNRESPONSIVE)
    assert f"nvidia-smi (pid {pid}) in D for" in reading.why
    assert not smi.started.exists()


def test_one_that_is_in_d_for_a_moment_is_waited_for(host, smi):
    pid, _ = host.start("stuck", wait=False, comm="nvidia-smi")
    host.wait_for_state(pid, "D")
    host.start("program", argv=["sh", "-c", "sleep 0.3; echo > /dev/stuck; sleep 1000"])
    smi.install(ANSWERS)
    outcome = smi.ask(old_s=20)
    assert (outcome.status, outcome.stdout) == (0, "-q -x\n")


def test_one_that_is_at_work_stands_in_nobodys_way(host, smi):
    host.start("idle", comm="nvidia-smi")
    smi.install(ANSWERS)
    assert smi.ask().stdout == "-q -x\n"


def test_nobody_waits_for_one_that_cannot_end(host, smi):
    smi.install(HANGS)
    outcome = smi.ask(deadline_s=1.0)
    assert outcome.status == 124
    reading = gpus.FACT.read(Outcome(status=124, stdout=outcome.stdout, timed_out=True))
    assert isinstance(reading, Missing)
    assert (reading.gap, reading.reason) == (Gap.TIMED_OUT, DRIVER_UNRESPONSIVE)
    smi.started.unlink()
    again = gpus.FACT.read(smi.ask())
    assert (again.gap, again.reason) == (Gap.TIMED_OUT, DRIVER_UNRESPONSIVE)
    assert not smi.started.exists()


def test_one_that_is_only_slow_is_ended_and_proves_nothing(host, smi):
    smi.install("#!/bin/sh\nexec sleep 1000\n")
    outcome = smi.ask(deadline_s=0.5)
    assert outcome.status == 124
    reading = gpus.FACT.read(Outcome(status=124, stdout=outcome.stdout, timed_out=True))
    assert reading == Missing(Gap.TIMED_OUT, "no answer in 25 s")


def test_where_it_stops_at_a_lost_gpu_the_others_are_listed(smi):
    smi.install(
        "#!/bin/sh\n"
        "echo 'Unable to determine the device handle for gpu 0000:18:00.0: Unknown Error'\n"
        "if [ $1 = -L ]; then echo 'GPU 1: NVIDIA H20 (UUID: GPU-1)'; else exit 15; fi\n"
    )
    reading = gpus.FACT.read(smi.ask())
    assert [lost.bdf for lost in reading.lost] == ["0000:18:00.0"]
    assert (reading.gpus, reading.listed, len(reading.problems)) == ((), 1, 1)


def test_where_there_is_none_it_is_absent(smi):
    reading = gpus.FACT.read(smi.ask())
    assert isinstance(reading, Missing)
    assert reading.gap is Gap.ABSENT
