"""Whose processes are a service's: by pid and start time, never by a number that somebody else has by now."""

import os
import signal
import subprocess
import sys

import pytest

from fleetops.steps.support.memory_guard.family import Family, Unit, kill, look_around, look_at


class Proc:
    """A /proc of a test's own."""

    def __init__(self, folder) -> None:
        self.folder = folder

    def has(self, pid, *, ppid=1, pgid=None, sid=None, ticks=100, state="S", threads=1, comm="python3"):
        path = self.folder / str(pid)
        path.mkdir(exist_ok=True)
        fields = [state, ppid, pid if pgid is None else pgid, pid if sid is None else sid]
        fields += [0] * 13 + [threads, 0, ticks, 0, 0]
        (path / "stat").write_text(f"{pid} ({comm}) " + " ".join(map(str, fields)) + "\n")

    def lost(self, *pids):
        for pid in pids:
            (self.folder / str(pid) / "stat").unlink()
            (self.folder / str(pid)).rmdir()


@pytest.fixture
def proc(tmp_path):
    proc = Proc(tmp_path)
    proc.has(1, ppid=0, pgid=0, sid=0, comm="init")
    proc.has(50, comm="bystander")
    return proc


def living(family):
    return sorted(family.refresh())


def test_the_tree_the_group_and_the_session_of_the_launcher_are_its_family(proc):
    proc.has(100)
    proc.has(101, ppid=100, pgid=100, sid=100)
    proc.has(102, ppid=101, pgid=100, sid=100)
    proc.has(103, ppid=1, pgid=100, sid=100)  # adopted by init
    assert living(Family(100, 100, str(proc.folder))) == [100, 101, 102, 103]


def test_a_rank_that_made_its_own_session_is_found_as_a_child_and_remembered_when_it_is_an_orphan(proc):
    proc.has(100)
    proc.has(101, ppid=100)  # a session and group of its own
    proc.has(102, ppid=101, pgid=101, sid=101)
    family = Family(100, 100, str(proc.folder))
    assert living(family) == [100, 101, 102]
    proc.lost(100)
    proc.has(101, ppid=1)
    assert living(family) == [101, 102]


def test_a_pid_that_was_given_to_somebody_else_is_nobody_of_the_service(proc):
    proc.has(100, ticks=7777)
    proc.has(101, ppid=100, pgid=100, sid=100)
    assert living(Family(100, 100, str(proc.folder))) == []


def test_a_group_whose_dead_leaders_number_is_led_by_somebody_else_now_is_spared(proc):
    proc.has(100)
    proc.has(101, ppid=100)
    family = Family(100, 100, str(proc.folder))
    assert living(family) == [100, 101]
    proc.lost(101)
    assert living(family) == [100], "101 leads nobody any more, and is forgotten"
    proc.has(101, ticks=900)
    proc.has(102, ppid=101, pgid=101, sid=101)
    proc.lost(101)
    assert living(family) == [100], "a later 101 and those it left are strangers"


def test_what_is_left_of_a_dead_launchers_session_is_its_family_still(proc):
    proc.has(100)
    proc.has(101, ppid=100, pgid=100, sid=100)
    family = Family(100, 100, str(proc.folder))
    assert living(family) == [100, 101]
    proc.lost(100)
    proc.has(103, ppid=1, pgid=100, sid=100)
    assert living(family) == [101, 103]


def test_the_dead_are_not_living_but_a_dead_leader_with_live_threads_is(proc):
    proc.has(100, state="Z")
    proc.has(101, ppid=100, pgid=100, sid=100, state="Z", threads=4)
    assert living(Family(100, 100, str(proc.folder))) == [101]


def test_init_and_the_guard_itself_are_never_of_the_family(proc):
    proc.has(os.getpid(), ppid=100)
    proc.has(100)
    proc.has(1, ppid=100, pgid=100, sid=100, comm="init")
    assert living(Family(100, 100, str(proc.folder))) == [100]


def test_everything_in_the_units_cgroup_is_of_the_family(proc, tmp_path_factory):
    unit = tmp_path_factory.mktemp("unit")
    (unit / "child").mkdir()
    (unit / "cgroup.procs").write_text(f"100\n{os.getpid()}\n")
    proc.has(os.getpid())
    (unit / "child/cgroup.procs").write_text("300\n")
    proc.has(100)
    proc.has(300, comm="escaped")  # neither child nor session, but in the unit
    assert living(Family(100, 100, str(proc.folder), Unit(str(unit)))) == [100, 300], (
        "and not the guard itself"
    )


def test_a_unit_of_version_2_is_killed_at_once(tmp_path):
    (tmp_path / "cgroup.kill").write_text("")
    Unit(str(tmp_path)).kill()
    assert (tmp_path / "cgroup.kill").read_text() == "1"


def test_a_name_with_parentheses_and_blanks_does_not_shift_the_fields(proc):
    proc.has(100, comm="a) Z 1 (b")
    assert look_at(100, str(proc.folder)).ticks == 100
    assert look_at(100, str(proc.folder)).comm == "a) Z 1 (b"


def test_a_process_is_killed_only_under_its_own_start_time():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    ticks = look_at(child.pid, "/proc").ticks
    assert not kill(child.pid, ticks + 1, "/proc")
    assert child.poll() is None
    assert kill(child.pid, ticks, "/proc")
    assert child.wait(10) == -signal.SIGKILL
    assert not kill(child.pid, ticks, "/proc")


def test_this_machines_processes_can_be_looked_at():
    table = look_around("/proc")
    assert table[os.getpid()].ppid == os.getppid()
