"""One process from start to end, and what is counted of it."""

import os
import time
from pathlib import Path

import pytest

from bench.entries import sample_of
from bench.measure import Invocation, run
from bench.processes import children, held, tree
from bench.tools import Tools, first_number

ENVIRON = {"PATH": os.environ["PATH"]}


def shell(line, **more):
    return Invocation(argv=["sh", "-c", line], environ=ENVIRON, **more)


def test_what_it_printed_and_how_it_ended():
    finished = run(shell("echo out; echo err >&2; exit 3"))
    assert (finished.status, finished.stdout, finished.stderr) == (3, "out\n", "err\n")
    assert finished.last_words == "err"
    assert not finished.timed_out


def test_its_environment_is_what_it_was_given(monkeypatch):
    monkeypatch.setenv("OF_THE_CALLER", "1")
    assert "OF_THE_CALLER" not in run(shell("env")).stdout


def test_its_standard_input_is_a_file(tmp_path):
    (tmp_path / "hosts").write_text("a\nb\n")
    assert run(shell("wc -l", stdin=tmp_path / "hosts")).stdout.strip() == "2"


def test_the_cpu_of_what_it_waited_for_counts():
    busy = "i=0; while [ $i -lt 60000 ]; do i=$((i + 1)); done"
    assert run(shell(f"({busy}); true")).cpu_s > run(shell("true")).cpu_s


def test_one_that_does_not_end_is_ended_with_all_that_it_started():
    finished = run(shell("sleep 600 & echo $!; wait", deadline_s=0.2))
    assert finished.timed_out
    left = Path("/proc", finished.stdout.strip())
    until = time.monotonic() + 10
    while _runs(left) and time.monotonic() < until:
        time.sleep(0.01)  # not our child: there is nothing to wait on
    assert not _runs(left)


def _runs(folder):
    try:
        return " Z " not in (folder / "stat").read_text().rpartition(")")[2][:4]
    except OSError:
        return False


def test_a_process_tree_holds_memory_and_threads():
    own = held([os.getpid()])
    assert own.processes == 1
    assert own.threads >= 1
    assert own.pss_bytes > 1_000_000
    assert os.getpid() in list(tree(os.getpid()))


def test_a_process_that_has_ended_counts_for_nothing():
    gone = 2**22 - 1  # above what Linux gives out by itself on small machines, and nobody's here
    assert children(gone) == []
    assert held([gone]) == (0, 0, 0)


@pytest.mark.parametrize(
    ("line", "hosts", "answered", "wrong"),
    [
        ("true", 4, 4, ""),
        ("echo refused >&2; exit 1", 4, 3, "1 of 4 hosts gave no right answer (refused)"),
        ("echo odd >&2; exit 7", 4, 4, "exit 7 (odd)"),
    ],
)
def test_what_is_wrong_with_a_run_is_said(line, hosts, answered, wrong):
    assert sample_of(run(shell(line)), hosts=hosts, answered=answered).wrong == wrong


@pytest.mark.parametrize(
    ("said", "release"),
    [
        ("clush 1.10.1", "1.10.1"),
        ("OpenSSH_9.2p1 Debian-2+deb12u10, OpenSSL 3.0.19 27 Jan 2026", "9.2p1"),
        ("ansible [core 2.19.14]", "2.19.14"),
        ("2.3.4", "2.3.4"),
        ("", ""),
    ],
)
def test_the_release_of_a_program_by_what_it_says(said, release):
    assert first_number(said) == release


def test_a_tool_that_is_not_there_has_no_release(tmp_path):
    tools = Tools(tmp_path)
    assert tools.find("no-such-program-anywhere") == ""
    assert tools.release("no-such-program-anywhere") == ""
    assert tools.distribution("parallel-ssh") == ""
