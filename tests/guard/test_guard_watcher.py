"""The guard as a process: it kills below its floor while it is armed, and never otherwise."""

import ast
import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from guarded import GB, is_alive

from fleetops.steps.support.memory_guard.program import program
from fleetops.steps.support.memory_guard.watcher import Watcher

NAME = Path(sys.executable).name[:15]
PR_CAPBSET_DROP, CAP_IPC_LOCK, CAP_SYS_RESOURCE = 24, 14, 24


def test_below_the_floor_it_kills_the_service_and_says_what_it_saw_and_did(watched):
    guard = watched.guard()
    service = watched.service()
    watched.available(15.8)
    assert service.wait(20) == -signal.SIGKILL
    watched.until(lambda: watched.state["killed"])
    watched.available(444)
    assert guard.wait(20) == 0
    killed = watched.state["killed"]
    assert (killed["bound"], killed["room_bytes"]) == ("MemAvailable", 15_800_000_000 // 1024 * 1024)
    assert killed["room_after_bytes"] > 440 * GB
    assert (killed["processes"], killed["left"]) == (1, 0)
    assert killed["what"] == [f"{service.pid} {NAME}"]
    assert watched.state["lowest_bytes"] == killed["room_bytes"]
    assert watched.state["mode"] == "killed"
    assert "MemAvailable fell to 15.8 GB, below the floor of 16.0 GB: killing the service" in watched.log


def test_above_the_floor_it_kills_nobody_and_remembers_the_least_it_saw(watched):
    watched.guard()
    service = watched.service()
    watched.available(16.1)
    watched.looks(5)
    watched.available(300)
    watched.looks(60)
    assert service.poll() is None
    assert watched.state["lowest_bytes"] == 16_100_000_000 // 1024 * 1024
    assert watched.state["mode"] == "armed"


def test_the_floor_itself_is_not_below_the_floor(watched):
    watched.guard(floor_bytes=16 * 2**30)
    service = watched.service()
    watched.available(16 * 2**30 / GB)
    watched.looks(10)
    assert service.poll() is None


def test_it_looks_at_least_ten_times_a_second(watched):
    watched.guard()
    before, since = watched.state["looks"], time.monotonic()
    watched.looks(100)
    assert (watched.state["looks"] - before) / (time.monotonic() - since) > 10


def test_disarmed_it_never_kills_whatever_becomes_of_the_memory(watched):
    watched.guard()
    service = watched.service()
    watched.told("disarm")
    watched.until(lambda: watched.state["mode"] == "reporting")
    watched.available(0.5)
    watched.until(lambda: "below_at" in watched.state)
    watched.looks(3)
    assert service.poll() is None
    assert "it is disarmed and only reports" in watched.log
    assert watched.state["lowest_bytes"] < GB


def test_a_controller_that_vanishes_leaves_it_armed_until_its_time_is_over(watched):
    watched.guard(armed_for_s=1.5)
    service = watched.service()
    watched.looks(5)
    assert watched.state["mode"] == "armed"
    watched.until(lambda: watched.state["mode"] == "reporting")
    assert watched.state["disarmed_why"] == "nobody did within its time"
    watched.available(1)
    watched.until(lambda: "below_at" in watched.state)
    assert service.poll() is None


def test_its_time_counts_from_the_services_start(watched):
    watched.guard(armed_for_s=1)
    since = time.monotonic()
    watched.until(lambda: time.monotonic() - since > 1.2)
    watched.looks(2)
    assert watched.state["mode"] == "armed"


def test_ranks_with_sessions_of_their_own_and_orphans_are_killed_with_it(watched):
    watched.guard()
    service = watched.service(
        """
ranks = [subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True) for _ in range(3)]
between = subprocess.Popen(["setsid", "sh", "-c", "setsid sleep 600 & echo $!; sleep 2"], stdout=subprocess.PIPE)
orphan = int(between.stdout.readline())
print(*(rank.pid for rank in ranks), between.pid, orphan, flush=True)
between.wait()
time.sleep(600)
"""
    )
    *ranks, between, orphan = [int(word) for word in service.stdout.readline().split()]
    pids = [*ranks, orphan]
    watched.until(lambda: not is_alive(between))
    assert all(map(is_alive, pids))
    watched.available(10)
    service.wait(20)
    watched.until(lambda: not any(map(is_alive, pids)))


def test_a_rank_that_was_started_a_moment_ago_is_killed_too(watched):
    watched.guard(hurry=0.1)  # it looks for new processes every twenty seconds only
    go = watched.folder / "go"
    service = watched.service(f"""
while not os.path.exists({str(go)!r}):
    time.sleep(0.005)
rank = subprocess.Popen(["setsid", "sleep", "600"])
while open(f"/proc/{{rank.pid}}/comm").read() != "sleep\\n":
    pass
print(rank.pid, flush=True)
time.sleep(600)
""")
    go.touch()
    rank = int(service.stdout.readline())
    watched.available(10)
    service.wait(20)
    watched.until(lambda: not is_alive(rank))


def test_nobody_else_is_killed(watched):
    watched.guard()
    service = watched.service()
    stranger = subprocess.Popen(["sleep", "60"], start_new_session=True)
    watched.processes.append(stranger)
    watched.available(2)
    service.wait(20)
    watched.until(lambda: watched.state["ended"])
    assert stranger.poll() is None


def test_a_launcher_that_died_leaves_its_ranks_guarded(watched):
    watched.guard()
    service = watched.service("""
rank = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print(rank.pid, flush=True)
time.sleep(600)
""")
    rank = int(service.stdout.readline())
    watched.looks(5)
    service.kill()
    service.wait(20)
    watched.looks(30)
    assert watched.state["ended"] == ""
    watched.available(3)
    watched.until(lambda: not is_alive(rank))


def test_a_claim_whose_pid_is_somebody_elses_by_now_kills_nobody(watched):
    stranger = subprocess.Popen(["sleep", "60"], start_new_session=True)
    watched.processes.append(stranger)
    ticks = int(Path(f"/proc/{stranger.pid}/stat").read_text().rpartition(")")[2].split()[19])
    guard = watched.guard()
    (watched.folder / "claim/pid").write_text(f"{stranger.pid} {ticks - 1}\n")
    watched.available(1)
    assert guard.wait(20) == 0
    assert stranger.poll() is None


def test_it_ends_by_itself_when_the_service_is_gone(watched):
    guard = watched.guard()
    service = watched.service("sys.exit(0)")
    service.wait(20)
    assert guard.wait(20) == 0
    assert watched.state["ended"] == "the service is gone"
    assert watched.state["killed"] is None


def test_it_ends_by_itself_when_no_service_comes_and_when_it_is_told_to(watched):
    assert watched.guard(service_within_s=0.3).wait(20) == 0
    assert watched.state["ended"] == "no service was started"
    (watched.folder / "run.json").unlink()
    guard = watched.guard()
    watched.told("end")
    assert guard.wait(20) == 0
    assert watched.state["ended"] == "told to"


def test_a_service_that_starts_while_memory_is_short_is_ended_at_once(watched):
    watched.guard()
    watched.available(12)
    watched.looks(5)
    assert watched.state["mode"] == "armed"
    assert watched.service().wait(20) == -signal.SIGKILL


def test_it_does_not_arm_below_its_floor_or_blind(watched):
    watched.available(15)
    assert watched.guard(wait=False).wait(20) == 1
    assert "not armed: MemAvailable is 15.0 GB, below the floor of 16.0 GB" in watched.log
    (watched.folder / "meminfo").write_text("nothing\n")
    assert watched.guard(wait=False).wait(20) == 1
    assert "what memory is left cannot be read" in watched.log
    assert watched.state == {}


def test_a_single_reading_that_makes_no_sense_ends_nobody(watched):
    watched.guard()
    service = watched.service()
    watched.meminfo_says("MemTotal:              0 kB\n")
    watched.looks(5)
    watched.available(445)
    watched.looks(5)
    assert service.poll() is None


class Struck:
    """A family that only notes that it was struck."""

    def __init__(self) -> None:
        self.did, self.known, self.names = [], {}, {}

    def strike(self):
        self.did.append("strike")
        return set()

    def refresh(self):
        self.did.append("look around")
        return {}


@pytest.mark.parametrize(
    ("rooms", "struck"), [([15, 17], 0), ([15, 15], 1), ([None, 15], 0), ([15, None], 0)]
)
def test_a_low_reading_is_looked_at_twice(watched, monkeypatch, rooms, struck):
    """As two readings of one moment; what is read later (after a strike) is plenty."""
    settings = {
        "run_id": "r", "profile": "p", "floor_bytes": 16 * GB, "armed_for_s": 60, "unit": "", "interval_s": 0.02,
        "claim": str(watched.folder / "claim"), "base": str(watched.folder / "run"), "service_within_s": 60,
        "meminfo": str(watched.folder / "meminfo"), "cgroup": str(watched.folder / "cgroup"),
    }  # fmt: skip
    watcher = Watcher(settings)
    told = iter([None if room is None else (room * GB, "MemAvailable") for room in rooms])
    monkeypatch.setattr(watcher.bounds, "least", lambda: next(told, (400 * GB, "MemAvailable")))
    watcher.family = family = Struck()
    watcher.step()
    assert family.did.count("strike") == struck
    if struck:
        assert family.did == ["look around", "strike", "look around"], "what has come last is struck too"


def test_one_that_can_read_nothing_any_more_says_so_and_ends(watched):
    guard = watched.guard()
    watched.service()
    (watched.folder / "meminfo").write_text("x" * 100)
    assert guard.wait(20) == 0
    assert watched.state["ended"] == "what memory is left can no longer be read"


def test_it_takes_no_memory_while_it_looks(watched):
    guard = watched.guard(interval_s=0.002)
    watched.service()
    watched.looks(200)  # every kind of look has been taken

    def resident_kb() -> int:
        text = Path(f"/proc/{guard.pid}/status").read_text()
        return int(text.partition("VmRSS:")[2].split()[0])

    before = resident_kb()
    watched.looks(400)
    assert resident_kb() <= before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may be allowed to lock memory")
def test_it_is_locked_in_memory_where_that_is_allowed(watched):
    guard = watched.guard()
    status = Path(f"/proc/{guard.pid}/status").read_text()
    locked_kb = int(status.partition("VmLck:")[2].split()[0])
    assert watched.state["locked"] == (locked_kb > 5000)
    assert watched.state["locked"] or any("not locked" in note for note in watched.state["notes"])


def test_one_that_cannot_be_locked_or_spared_says_so_and_guards_all_the_same(watched):
    def is_poor() -> None:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, 65536))
        # Without its capabilities root may do no more than anybody: what is left of them is dropped with the next exec.
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0)
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_RESOURCE, 0, 0, 0)

    watched.guard(popen={"preexec_fn": is_poor})
    assert watched.state["locked"] is False
    assert any(note.startswith("not locked in memory: ") for note in watched.state["notes"])
    assert any(note.startswith("not spared by the OOM killer: ") for note in watched.state["notes"])
    service = watched.service()
    watched.available(5)
    assert service.wait(20) == -signal.SIGKILL


def test_the_state_is_never_seen_half_written(watched):
    watched.guard()
    watched.service()
    for _ in range(2000):
        assert watched.state["mode"] == "armed"


def test_the_program_is_one_file_for_old_pythons_that_knows_nothing_of_fleetops():
    tree = ast.parse(program(), feature_version=(3, 8))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    assert modules == {
        "__future__", "typing", "contextlib", "ctypes", "gc", "json", "os", "signal", "sys", "time"
    }  # fmt: skip


def test_no_name_of_one_of_its_modules_hides_another_modules():
    body = ast.parse(program()).body
    names = [node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    names += [
        one.id
        for node in body
        if isinstance(node, ast.Assign)
        for one in ast.walk(node.targets[0])
        if isinstance(one, ast.Name)
    ]
    assert len(names) == len(set(names)), sorted(names)
