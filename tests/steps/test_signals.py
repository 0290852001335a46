"""Signals reach exactly the process that was seen, named by pid and start time."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from local_session import LocalSession
from unheard import unheard

from fleetops.model.machine import Process
from fleetops.steps.support.signals import signal_command


def start_ticks(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def seen(pid: int) -> Process:
    return Process(
        pid=pid, ppid=1, pgid=pid, sid=pid, state="S", threads=1, comm="sleep", start_ticks=start_ticks(pid)
    )


@pytest.fixture
def sleeper(tmp_path: Path):
    odd = tmp_path / "a ) b"
    odd.symlink_to("/bin/sleep")
    process = subprocess.Popen([str(odd), "300"])
    yield process
    process.kill()
    process.wait()


def test_the_process_that_was_seen_gets_the_signal(sleeper):
    outcome = LocalSession().run(signal_command("TERM", [seen(sleeper.pid)]))
    assert outcome.stdout == f"{sleeper.pid} sent\n"
    assert sleeper.wait(10) == -15


def test_another_process_under_the_same_pid_is_left_alone(sleeper):
    imposter = replace(seen(sleeper.pid), start_ticks=1)
    outcome = LocalSession().run(signal_command("KILL", [imposter]))
    assert outcome.stdout == f"{sleeper.pid} other\n"
    assert sleeper.poll() is None


def test_one_that_is_gone_does_not_keep_the_signal_from_the_others(sleeper):
    gone = replace(seen(sleeper.pid), pid=4_000_000)
    outcome = LocalSession().run(signal_command("TERM", [gone, seen(sleeper.pid)]))
    assert outcome.stdout == f"4000000 gone\n{sleeper.pid} sent\n"
    assert sleeper.wait(10) == -15


def test_all_get_it_where_nobody_hears_who_did(sleeper):
    other = subprocess.Popen(["sleep", "300"])
    unheard(signal_command("TERM", [seen(sleeper.pid), seen(other.pid)]).argv)
    assert (sleeper.wait(10), other.wait(10)) == (-15, -15)
