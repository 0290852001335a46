"""The script of the kernel's log on stand-ins for journalctl and dmesg: what is kept, and which of the two is read."""

import subprocess
import time

import pytest

from fleetops.facts import kernel_log
from fleetops.model.command import Outcome
from fleetops.model.fact import Gap

SHELLS = [["sh"], ["busybox", "ash"]]
FIRST = "<5>[    0.000000] Linux version 6.8.12\n"


@pytest.fixture(params=SHELLS, ids=["sh", "busybox"])
def read(request, tmp_path):
    """Reads the log where these programs print these texts and end with these statuses."""
    if subprocess.run([*request.param, "-c", "true"], check=False).returncode != 0:
        pytest.skip(f"no {request.param[0]} here")

    def run(**programs):
        for name, (text, status) in programs.items():
            (tmp_path / f"{name}.out").write_text(text)
            program = tmp_path / name
            program.write_text(f"#!/bin/sh\ncat '{tmp_path}/{name}.out'\nexit {status}\n")
            program.chmod(0o755)
        argv = [*request.param, *kernel_log.FACT.command.argv[1:]]
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}
        )
        return kernel_log.FACT.read(Outcome(status=done.returncode, stdout=done.stdout, stderr=done.stderr))

    return run


def ring(*texts):
    return FIRST + "".join(f"<3>[{at:12.6f}] {text}\n" for at, text in enumerate(texts, start=1))


BASE = int(time.time())


def journal(*texts):
    return "".join(f"{BASE + at}.000001 pve-01 kernel: {text}\n" for at, text in enumerate(texts))


NO_JOURNAL = ("", 1)


def test_the_newest_are_kept_and_the_others_said_to_be_cut(read):
    log = read(
        journalctl=NO_JOURNAL, dmesg=(ring(*(f"NVRM: Xid (PCI:0000:01:00): {n}, x" for n in range(400))), 0)
    )
    assert log.cut
    assert not log.is_whole
    assert log.begins_at == log.lines[0].at
    assert [line.text for line in log.lines] == [
        f"NVRM: Xid (PCI:0000:01:00): {n}, x" for n in range(100, 400)
    ]
    assert [line.at for line in log.lines] == sorted(line.at for line in log.lines)


def test_a_storm_of_corrected_errors_does_not_push_out_an_oom_kill(read):
    storm = ["pcieport 0000:c0:01.0: AER: Corrected error message received"] * 3000
    log = read(journalctl=NO_JOURNAL, dmesg=(ring("Out of memory: Killed process 12 (python3) x", *storm), 0))
    assert log.lines[0].text == "Out of memory: Killed process 12 (python3) x"
    assert len(log.lines) == 1 + kernel_log.KEPT_CHATTER
    assert log.is_whole
    assert not log.cut


def test_the_journal_comes_first(read):
    log = read(journalctl=(journal("Linux version 6.8", "NVRM: a"), 0), dmesg=(ring("NVRM: b"), 0))
    assert (log.source, [line.text for line in log.lines]) == ("journal", ["NVRM: a"])
    assert log.begins_at == BASE


@pytest.mark.parametrize(
    "answer", [("", 0), ("", 1), (journal("NVRM: a"), 1)], ids=["empty", "none", "failed"]
)
def test_a_journal_without_the_kernel_or_that_fails_is_passed_over(read, answer):
    log = read(journalctl=answer, dmesg=(ring("NVRM: b"), 0))
    assert (log.source, [line.text for line in log.lines]) == ("ring", ["NVRM: b"])


def test_a_journal_that_hangs_is_passed_over(read):
    log = read(timeout=(journal("NVRM: a"), 124), dmesg=(ring("NVRM: b"), 0), journalctl=("", 0))
    assert (log.source, [line.text for line in log.lines]) == ("ring", ["NVRM: b"])


def test_what_the_kernel_said_after_the_journals_last_line_is_taken_from_its_buffer(read):
    """The journal's daemon was killed 100 seconds after the boot; the buffer has what it wrote down and what it did not."""
    booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    kept = f"{booted + 1:.6f} pve-01 kernel: Linux\n{booted + 100:.6f} pve-01 kernel: NVRM: a\n"
    lines = [(1, "Linux"), (100, "NVRM: a"), (110, "NVRM: on its way"), (900, "oom-kill: x")]
    buffer = "".join(f"<3>[{at:12.6f}] {text}\n" for at, text in lines)
    log = read(journalctl=(kept, 0), dmesg=(buffer, 0))
    assert [line.text for line in log.lines] == ["NVRM: a", "oom-kill: x"]
    assert (log.source, log.is_whole) == ("journal", True)
    assert len(read(journalctl=(kept, 0), dmesg=(buffer, 1)).lines) == 1
    assert len(read(journalctl=(kept, 0), dmesg=("<3>oom-kill without a time\n", 0)).lines) == 1


def test_only_the_kernels_own_word_counts(read):
    spoken = "1764450000.000001 node-174 backup.sh[9]: NVRM: Xid test\n" + journal("NVRM: a")
    assert [line.text for line in read(journalctl=(spoken, 0), dmesg=("", 0)).lines] == ["NVRM: a"]


def test_what_no_check_cares_for_is_left_out(read):
    texts = (
        "usb 1-1: new device",
        "NVRM:      0    103  GSP_RM_ALLOC",
        "Call Trace:",
        '"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.',
        "Future hung task reports are suppressed, see sysctl kernel.hung_task_warnings",
    )
    log = read(journalctl=NO_JOURNAL, dmesg=(ring(*texts), 0))
    assert [line.text for line in log.lines] == [texts[-1]]
    assert log.is_whole


def test_a_buffer_that_has_wrapped_is_not_whole(read):
    log = read(journalctl=NO_JOURNAL, dmesg=("<3>[ 9000.000000] NVRM: b\n", 0))
    assert not log.is_whole


def test_a_buffer_that_is_denied_is_no_empty_one(read):
    assert read(journalctl=NO_JOURNAL, dmesg=("", 1)).gap is Gap.UNPARSABLE


def test_this_machine_tells_its_time_its_disks_and_its_units():
    from fleetops.facts import build

    for name in ("clock", "disks"):
        fact = build(name)
        done = subprocess.run(fact.command.argv, capture_output=True, text=True, check=False)
        reading = fact.read(Outcome(status=done.returncode, stdout=done.stdout, stderr=done.stderr))
        assert not hasattr(reading, "gap"), reading
