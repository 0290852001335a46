"""The same start and the same guard under systemd itself, where this machine lets it run: what the stand-in is measured by."""

import time
from dataclasses import replace

import pytest
from own_start import CLAIMS, read, start, unit, wait_for
from real_systemd import real_systemd

from fleetops.facts.memory_guard import FACT
from fleetops.model.command import Command, shell
from fleetops.model.fleet import HostMemory, Profile
from fleetops.steps.support.memory_guard.commands import arm_command, tell_command
from fleetops.steps.support.units import clear_unit, stop_unit

GB = 10**9
# 4 GB in a second, half of them by a child in a session of its own.
TAKER = """
import mmap, os, time
if os.fork() == 0:
    os.setsid()
kept = []
while True:
    kept.append(mmap.mmap(-1, 8 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE))
    time.sleep(0.004)
"""


@pytest.fixture(scope="module")
def systemd(tmp_path_factory):
    with real_systemd(tmp_path_factory.mktemp("systemd")) as host:
        yield host


def shown(host, name, *properties):
    asked = f"--property={','.join(properties)}"
    text = host.run(Command(argv=("systemctl", "show", asked, unit(name)))).stdout
    return dict(line.split("=", 1) for line in text.splitlines())


def state(host, run):
    (seen,) = [one for one in FACT.read(host.run(FACT.command)) if one.run_id == run]
    return seen


def test_the_unit_has_the_limits_that_it_was_given(systemd):
    started = start(systemd, "limits", "sleep", "60", most="429000000000")
    assert started.ok, started
    assert started.stdout.split()[2] == unit("limits")
    wanted = {
        "MemoryMax": "429000000000", "MemorySwapMax": "0", "OOMScoreAdjust": "500", "OOMPolicy": "kill",
        "KillMode": "control-group", "TasksMax": "infinity", "ActiveState": "active",
    }  # fmt: skip
    assert shown(systemd, "limits", *wanted) == wanted


def test_words_and_environment_arrive_as_they_are(systemd):
    words = ("a$b", "${HOME}", "$$", "$HOME", "%i\\n", "it's", "x  y", "")
    script = 'printf "%s|" "$@"; echo; echo "$PATH $A"; echo end; exec sleep 60'
    environment = {"PATH": "/nowhere:/usr/bin:/bin", "A": "it's $(touch /ran) `x`"}
    assert start(systemd, "words", "sh", "-c", script, "sh", *words, environment=environment).ok
    told = wait_for(systemd, "/var/log/fleetops/words.log", "end\n").splitlines()
    assert told[:2] == ["|".join(words) + "|", f"{environment['PATH']} {environment['A']}"]


def test_what_cannot_be_started_leaves_no_unit(systemd):
    refused = start(systemd, "refused", "sleep", "60", most="a lot")
    assert refused.status == 1
    assert "systemd-run failed: Failed to parse MemoryMax=a lot" in refused.said
    absent = start(systemd, "absent", "no-such-engine")
    assert absent.status == 1
    listed = systemd.run(shell("systemctl list-units --all --no-legend 'fleetops-*'")).stdout
    assert "refused" not in listed
    assert "absent" not in listed


def test_stopped_or_killed_it_is_not_left_behind(systemd):
    assert start(systemd, "stopped", "sleep", "60").ok
    assert systemd.run(stop_unit(unit("stopped"))).ok
    assert systemd.run(clear_unit(unit("stopped"))).ok
    pid = start(systemd, "killed", "sleep", "60").stdout.split()[0]
    systemd.run(Command(argv=("kill", "-KILL", pid)))
    assert systemd.run(clear_unit(unit("killed"))).stdout == "signal\n"
    assert shown(systemd, "killed", "LoadState")["LoadState"] == "not-found"


def test_the_guard_ends_the_whole_unit_and_what_left_its_session(systemd):
    meminfo = read(systemd, "/proc/meminfo")
    available = int(meminfo.partition("MemAvailable:")[2].split()[0]) * 1024
    profile = Profile(
        name="p", engine="sglang", model="/m", ranks=1, port=1,
        host_memory=HostMemory(floor_bytes=available - 2 * GB),
    )  # fmt: skip
    log = "/var/log/fleetops/taker.guard.log"
    armed = systemd.run(arm_command(profile, "taker", claim=f"{CLAIMS}/taker", unit=unit("taker"), log=log))
    assert armed.ok, armed
    assert start(systemd, "taker", "python3", "-c", TAKER, most=str(available)).ok
    deadline = time.monotonic() + 30
    while not (seen := state(systemd, "taker")).ended:
        assert time.monotonic() < deadline, read(systemd, log)
        time.sleep(0.1)
    assert (seen.ended, seen.killed.left) == ("it has ended the service", 0)
    assert seen.killed.processes >= 2
    assert shown(systemd, "taker", "Result") == {"Result": "signal"}
    assert systemd.run(clear_unit(unit("taker"))).ok


def test_a_login_that_is_ended_with_all_its_processes_leaves_the_guard_alone(systemd):
    """What logind does with KillUserProcesses=yes when the connection is closed: it stops the session's scope."""
    profile = Profile(
        name="p", engine="sglang", model="/m", ranks=1, port=1, host_memory=HostMemory(floor_bytes=1)
    )
    log = "/var/log/fleetops/login.guard.log"
    command = arm_command(profile, "login", claim=f"{CLAIMS}/login", unit=unit("login"), log=log)
    scope = ("systemd-run", "--quiet", "--scope", "--unit=session-7.scope", "--")
    armed = systemd.run(replace(command, argv=(*scope, *command.argv)))
    assert armed.ok, armed
    systemd.run(Command(argv=("systemctl", "stop", "session-7.scope")))
    seen = state(systemd, "login")
    assert seen.armed
    assert "/init.scope" in read(systemd, f"/proc/{seen.pid}/cgroup")
    assert not [note for note in seen.notes if "login" in note]
    systemd.run(tell_command("login", "end"))
