"""A guard and its service on a host of the lab, over SSH: armed first, once, with any Python or none."""

import time
from dataclasses import replace

import pytest
from own_start import CLAIMS, read, start, unit

from fleetops.facts.memory_guard import FACT, FOLDER
from fleetops.inventory.load import load_inventory
from fleetops.model.command import Command, shell
from fleetops.model.fleet import HostMemory, Profile
from fleetops.model.memory_guard import ARMED
from fleetops.ssh.connections import Connections
from fleetops.steps.support.memory_guard.commands import arm_command, tell_command

pytestmark = pytest.mark.lab

GB = 10**9
PROFILE = Profile(name="p", engine="sglang", model="/m", ranks=1, port=1, ready_deadline_s=60, watch_s=1)
# Takes 240 of the host's 252 GB, as a driver pins them, when a file appears; a child in a session of its own beside it.
TAKER = """
import os, subprocess, sys, time
sys.path.insert(0, "/opt/fleetops-lab/lib")
from fleetops.lab.driver import Ledger
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
entry = Ledger().take("taker")
while not os.path.exists("/root/take-now"):
    time.sleep(0.01)
entry.set(host_bytes=240 * 10**9)
time.sleep(600)
"""
TOOLS = "sh cat mkdir mv rm sed setsid sleep tail touch"


@pytest.fixture
def node(lab):
    inventory = load_inventory(lab.inventory)
    with Connections(inventory.settings, environ={}) as connections:
        session = connections.session(inventory.nodes["node-190"])
        session.run(Command(argv=("rm", "-f", "/root/take-now"), changes=True))
        yield session
        end_takers(session)
        session.run(Command(argv=("rm", "-f", "/root/take-now"), changes=True))


def end_takers(node):
    node.run(shell("pkill -KILL -f [t]ake-now; pkill -x sleep", changes=True))


def arm(node, name, profile=PROFILE, *, bare=False):
    command = arm_command(
        profile, name, claim=f"{CLAIMS}/{name}", unit=unit(name), log=f"/var/log/fleetops/{name}.guard.log"
    )
    if bare:
        link = 'mkdir -p /root/bare; for tool in $1; do ln -sf "$(command -v $tool)" /root/bare; done'
        assert node.run(shell(link, TOOLS, changes=True)).ok
        argv = ("env", "PATH=/root/bare", *command.argv)
        command = replace(command, argv=argv)
    return node.run(command)


def guard(node, name):
    return next((one for one in FACT.read(node.run(FACT.command)) if one.run_id == name), None)


def until(node, name, is_true):
    deadline = time.monotonic() + 30
    while not is_true(seen := guard(node, name)):
        assert time.monotonic() < deadline, (seen, read(node, f"/var/log/fleetops/{name}.guard.log"))
        time.sleep(0.1)
    return seen


def living(node):
    """The taker and its child."""
    text = "pgrep -f [t]ake-now; pgrep -x sleep -a | grep ' 600$'"
    return node.run(shell(text)).stdout.split()


def both_live(node):
    deadline = time.monotonic() + 20
    while len(living(node)) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("bare", [False, True], ids=["with Python", "with a shell alone"])
def test_it_is_armed_before_its_service_and_ends_it_below_the_floor(node, request, bare):
    name = "guarded-bare" if bare else "guarded"
    assert arm(node, name, bare=bare).ok
    seen = guard(node, name)
    assert (seen.mode, seen.alive, seen.service) == (ARMED, True, None)
    assert any("no Python" in note for note in seen.notes) == bare
    started = start(node, name, "/opt/fleetops-lab/bin/python3", "-c", TAKER)
    assert started.ok, started
    pid, ticks = map(int, started.stdout.split())
    seen = until(node, name, lambda one: one.service)
    assert seen.service == (pid, ticks)
    both_live(node)
    node.run(Command(argv=("touch", "/root/take-now"), changes=True))
    seen = until(node, name, lambda one: one.ended)
    assert (seen.killed.bound, seen.killed.left) == ("MemAvailable", 0)
    assert seen.killed.room_bytes < 16 * GB < seen.killed.room_after_bytes
    assert seen.killed.processes == 2
    assert living(node) == []
    # It says that it has ended the service, and then ends itself.
    until(node, name, lambda one: not one.alive)


def test_a_second_submission_does_nothing(node):
    assert arm(node, "twice").ok
    first = guard(node, "twice")
    again = arm(node, "twice")
    assert again.status == 76
    assert guard(node, "twice").pid == first.pid
    guards = node.run(
        shell("cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -c '/guard/[t]wice.py$'")
    ).stdout
    assert guards.strip() == "1"
    node.run(tell_command("twice", "end"))
    until(node, "twice", lambda one: one.ended)


@pytest.mark.parametrize("bare", [False, True], ids=["with Python", "with a shell alone"])
def test_told_to_disarm_it_only_reports_and_ends_with_its_service(node, bare):
    name = f"disarmed-{bare}"
    assert arm(node, name, bare=bare).ok
    assert start(node, name, "/opt/fleetops-lab/bin/python3", "-c", TAKER).ok
    until(node, name, lambda one: one.service)
    both_live(node)
    assert node.run(tell_command(name, "disarm")).ok
    until(node, name, lambda one: one.mode == "reporting")
    node.run(Command(argv=("touch", "/root/take-now"), changes=True))
    until(node, name, lambda one: one.lowest_bytes < 16 * GB or bare)
    both_live(node)
    end_takers(node)
    seen = until(node, name, lambda one: one.ended)
    assert (seen.ended, seen.killed) == ("the service is gone", None)


@pytest.mark.parametrize("bare", [False, True], ids=["with Python", "with a shell alone"])
def test_below_its_floor_it_is_not_armed_and_says_why(node, bare):
    greedy = replace(PROFILE, host_memory=HostMemory(floor_bytes=253 * GB))
    name = f"greedy-{bare}"
    outcome = arm(node, name, greedy, bare=bare)
    assert outcome.status == 1
    assert "not armed: MemAvailable is 252" in outcome.said
    assert guard(node, name) is None


def test_what_it_runs_and_what_it_says_stays_on_the_host_for_root_alone(node):
    assert arm(node, "files").ok
    node.run(tell_command("files", "end"))
    until(node, "files", lambda one: one.ended)
    assert "class Watcher" in read(node, f"{FOLDER}/files.py")
    log = read(node, "/var/log/fleetops/files.guard.log")
    assert "armed: floor 16.0 GB" in log
    assert "ended: told to" in log
    modes = node.run(
        shell('stat -c %a "$1" "$1/files.json" /var/log/fleetops/files.guard.log', FOLDER)
    ).stdout
    assert modes.split() == ["700", "600", "600"]


def test_a_guard_without_a_state_folder_is_told(node):
    node.run(shell('mv "$1" "$1.aside"; : > "$1"', FOLDER, changes=True))
    try:
        outcome = arm(node, "nowhere")
    finally:
        node.run(shell('rm "$1"; mv "$1.aside" "$1" 2>/dev/null || mkdir -p "$1"', FOLDER, changes=True))
    assert outcome.status == 1
    assert outcome.said


def test_the_labs_memory_files_change_under_an_open_descriptor_as_a_kernels_do(node):
    reader = """
import os, time
files = [os.open(path, os.O_RDONLY) for path in ("/proc/meminfo", "/sys/fs/cgroup/memory.current")]
def seen():
    return [os.pread(file, 4096, 0) for file in files]
before = seen()
with open("/dev/shm/guard-test", "wb") as segment:
    segment.write(bytes(5_000_000))
until = time.monotonic() + 20
while any(one == other for one, other in zip(before, seen())) and time.monotonic() < until:
    time.sleep(0.02)
print([one != other for one, other in zip(before, seen())])
os.unlink("/dev/shm/guard-test")
"""
    assert node.run(Command(argv=("python3", "-c", reader), deadline_s=30)).stdout == "[True, True]\n"
