"""Where systemd runs a service is a transient unit: started as one, found by its record, stopped through systemd.

systemd cannot be the first process of a lab's host, so its commands are stood in for there (support/systemd_stand_in.py, after
systemd 252); `test_guard_real_systemd.py` runs the same script under systemd itself where this machine lets it.
"""

import json
from dataclasses import replace

import pytest
from node_scenes import NODE, RECORD, observe, process, service_processes
from own_start import CLAIMS, install_systemd, read, remove_systemd, start, unit, wait_for

from fleetops.checks import judge
from fleetops.inventory.load import load_inventory
from fleetops.model.command import Command, shell
from fleetops.model.engine import SERVICE_RECORDS
from fleetops.model.fleet import Inventory
from fleetops.model.machine import PROCESSES
from fleetops.ssh.connections import Connections
from fleetops.steps.start_guard import STEP as ARM
from fleetops.steps.start_service import STEP as START
from fleetops.steps.stop_service import STEP as STOP
from fleetops.steps.support.base import Situation
from fleetops.steps.support.units import clear_unit, stop_unit

HOSTILE = {"PATH": "/nowhere:/usr/bin:/bin", "unit": "x", "A": "it's $(touch /root/ran) `x`"}


@pytest.fixture
def node(lab):
    inventory = load_inventory(lab.inventory)
    with Connections(inventory.settings, environ={}) as connections:
        yield connections.session(inventory.nodes["node-190"])


@pytest.fixture
def systemd(node):
    install_systemd(node)
    yield node
    remove_systemd(node)


def properties(node, name):
    return json.loads(read(node, f"/run/systemd/stand-in/{unit(name)}"))["properties"]


@pytest.mark.lab
def test_it_is_a_unit_that_may_take_what_the_budget_allows_and_goes_first_when_memory_is_short(
    systemd, request
):
    name = request.node.name
    started = start(systemd, name, "sleep", "60", most="429000000000")
    assert started.ok, started
    pid, ticks, named = started.stdout.split()
    assert named == unit(name)
    given = properties(systemd, name)
    assert given["MemoryMax"] == "429000000000"
    assert given["MemorySwapMax"] == "0"
    assert int(given["OOMScoreAdjust"]) > 0
    assert (given["KillMode"], given["OOMPolicy"]) == ("control-group", "kill")
    record = json.loads(read(systemd, f"/run/fleetops/services/{name}.json"))
    assert (record["pid"], record["start_ticks"], record["unit"]) == (int(pid), int(ticks), named)
    assert read(systemd, f"{CLAIMS}/{name}/pid").split() == [pid, ticks]


@pytest.mark.lab
def test_its_words_and_its_environment_arrive_as_they_are_though_systemd_expands(systemd, request):
    name = request.node.name
    words = ("a$b", "${HOME}", "$$", "$HOME", "%i\\n", "it's", "x  y", "")
    script = 'printf "%s|" "$@"; echo; echo "$PATH $unit $A $HOME"; pwd; umask; echo end; exec sleep 60'
    assert start(systemd, name, "sh", "-c", script, "sh", *words, environment=HOSTILE).ok
    told = wait_for(systemd, f"/var/log/fleetops/{name}.log", "end\n").splitlines()
    assert told[0] == "|".join(words) + "|"
    assert told[1] == f"{HOSTILE['PATH']} x {HOSTILE['A']} /root", "what the connection gave is there as well"
    assert told[2:4] == ["/root", "0022"]
    assert not systemd.run(Command(argv=("test", "-e", "/root/ran"))).ok


@pytest.mark.lab
def test_no_secret_stands_in_an_argv_or_stays_behind(systemd, request):
    name = request.node.name
    assert start(systemd, name, "sleep", "60", environment={"TOKEN": "very-secret"}).ok
    assert systemd.run(Command(argv=("ls", f"{CLAIMS}/{name}"))).stdout == "pid\n"
    assert "very-secret" not in systemd.run(shell("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")).stdout


@pytest.mark.lab
def test_without_a_known_room_there_is_no_limit(systemd, request):
    assert start(systemd, request.node.name, "sleep", "60", most="").ok
    assert "MemoryMax" not in properties(systemd, request.node.name)


@pytest.mark.lab
def test_a_systemd_run_that_fails_is_told_and_leaves_nothing_half_started(systemd, request):
    name = request.node.name
    outcome = start(systemd, name, "sleep", "61", most="a lot", environment={"TOKEN": "x"})
    assert outcome.status == 1
    assert "systemd-run failed: Failed to parse MemoryMax=a lot: Invalid argument" in outcome.said
    assert systemd.run(Command(argv=("ls", f"{CLAIMS}/{name}"))).stdout == ""
    assert not systemd.run(Command(argv=("test", "-e", f"/run/fleetops/services/{name}.json"))).ok
    assert not systemd.run(Command(argv=("test", "-e", f"/run/systemd/stand-in/{unit(name)}"))).ok
    assert "sleep\x0061" not in systemd.run(shell("cat /proc/[0-9]*/cmdline")).stdout


@pytest.mark.lab
def test_a_systemd_that_does_not_answer_is_told_too(node, request):
    """The machine's own systemd-run, with nobody to talk to: what a container without its bus looks like."""
    if not node.run(shell("command -v systemd-run")).ok:
        pytest.skip("there is no systemd-run on this machine")
    node.run(Command(argv=("mkdir", "-p", "/run/systemd/system"), changes=True))
    try:
        outcome = start(node, request.node.name, "sleep", "60")
    finally:
        node.run(Command(argv=("rm", "-rf", "/run/systemd/system"), changes=True))
    assert outcome.status == 1
    assert "systemd-run failed: " in outcome.said


@pytest.mark.lab
def test_a_program_that_does_not_exist_leaves_no_failed_unit(systemd, request):
    name = request.node.name
    outcome = start(systemd, name, "no-such-engine")
    assert outcome.status == 1
    assert "no-such-engine" in outcome.stdout
    assert not systemd.run(Command(argv=("test", "-e", f"/run/systemd/stand-in/{unit(name)}"))).ok


@pytest.mark.lab
def test_stopped_through_systemd_it_ends_and_killed_it_is_not_left_behind_as_failed(systemd, request):
    name = request.node.name
    assert start(systemd, name, "sleep", "60").ok
    assert systemd.run(stop_unit(unit(name))).ok
    assert systemd.run(clear_unit(unit(name))).stdout == "success\n"
    pid = start(systemd, f"{name}-2", "sleep", "60").stdout.split()[0]
    systemd.run(Command(argv=("kill", "-KILL", pid), changes=True))
    state = wait_for(systemd, f"/run/systemd/stand-in/{unit(f'{name}-2')}", "failed")
    assert '"Result": "signal"' in state
    cleared = systemd.run(clear_unit(unit(f"{name}-2")))
    assert (cleared.status, cleared.stdout) == (0, "signal\n")
    assert not systemd.run(Command(argv=("test", "-e", f"/run/systemd/stand-in/{unit(f'{name}-2')}"))).ok


@pytest.mark.lab
def test_a_failed_unit_of_an_earlier_launch_is_forgotten_at_the_next_start(systemd, request):
    name = request.node.name
    pid = start(systemd, name, "sleep", "60").stdout.split()[0]
    systemd.run(Command(argv=("kill", "-KILL", pid), changes=True))
    wait_for(systemd, f"/run/systemd/stand-in/{unit(name)}", "failed")
    systemd.run(
        Command(argv=("rm", "-rf", f"{CLAIMS}/{name}", f"/var/log/fleetops/{name}.log"), changes=True)
    )
    assert start(systemd, name, "sleep", "60").ok, "the same name can be had again"


UNIT = "fleetops-hicache48-20261129-1402-node-174.service"
IN_UNIT = replace(RECORD, unit=UNIT)
SYSTEMD = process(1, "systemd", "/sbin/init", ppid=0)


def situation(*processes, record=IN_UNIT, table=None):
    known = {SERVICE_RECORDS: (record,) if record else ()}
    observation = observe(*processes, facts=known | ({PROCESSES: table} if table else {}))
    return Situation(
        inventory=Inventory(path=".", nodes={"node-174": NODE}),
        observation=observation,
        findings=judge(observation),
        before=observation,
        run_id="20261130-091700-node-174-abc123",
    )


def stops(*processes, record=IN_UNIT):
    """The planned commands of a stop, in order: program or script, then its arguments."""
    plan = STOP.plan(situation(*processes, record=record), STOP.settle({}))
    return [
        argv[3:] if argv[0] == "sh" else argv for argv in (action.command.argv for action in plan.actions)
    ]


def in_unit(*processes):
    return tuple(replace(one, cgroup=f"/system.slice/{UNIT}") for one in processes)


def test_a_stop_asks_systemd_first_kills_what_is_left_and_leaves_no_failed_unit():
    asked, killed, cleared = stops(*in_unit(*service_processes()))
    assert asked == ("systemctl", "stop", "--no-block", "--", UNIT)
    assert killed[:2] == ("fleetops-signal", "KILL")
    assert len(killed) == 2 + 10
    assert cleared == ("fleetops-clear-unit", UNIT)


def test_a_process_that_left_the_unit_is_asked_by_itself():
    inside, outsider = in_unit(*service_processes()[:-1]), service_processes()[-1]
    asked, also, _, _ = stops(*inside, outsider)
    assert asked[1] == "stop"
    assert also == ("fleetops-signal", "TERM", f"{outsider.pid}:{outsider.start_ticks}")


def test_a_unit_is_ours_by_its_record_only():
    foreign = replace(RECORD, unit="sglang.service")
    assert stops(*in_unit(*service_processes()), record=foreign)[0][:2] == ("fleetops-signal", "TERM")
    reused = replace(IN_UNIT, start_ticks=1)
    assert stops(*service_processes(), record=reused)[0][:2] == ("fleetops-signal", "TERM")


def test_the_failed_unit_of_a_service_that_is_gone_is_forgotten():
    assert stops() == [("fleetops-clear-unit", UNIT)]
    assert stops(record=RECORD) == []


def test_the_plan_says_where_it_will_run_and_what_it_may_take():
    table = (SYSTEMD, *observe().node_facts.readings["processes"][1:])
    plan = START.plan(situation(record=None, table=table), START.settle({}))
    name = "fleetops-hicache48-20261130-091700-node-174-abc123.service"
    assert f"(unit {name}, MemoryMax 429 GB)" in plan.detail, "445 GB available less the floor of 16"
    argv = plan.actions[0].command.argv
    assert argv[argv.index(name) + 1] == str(429 * 10**9)
    without = START.plan(situation(record=None), START.settle({}))
    assert "(in a session of its own: systemd does not run there)" in without.detail


def test_the_plan_arms_the_guard_for_that_very_start():
    plan = ARM.plan(situation(record=None), ARM.settle({}))
    assert "ends the service below 16 GB of MemAvailable" in plan.detail
    command = plan.actions[0].command
    settings = json.loads(next(word for word in command.argv if word.startswith('{"run_id"')))
    start_argv = START.plan(situation(record=None), START.settle({})).actions[0].command.argv
    assert settings["claim"] in start_argv
    assert settings["unit"] in start_argv
    assert settings["floor_bytes"] == 16 * 10**9
    assert settings["armed_for_s"] >= 900 + 120
    assert settings["interval_s"] <= 0.1
    assert "class Watcher" in command.stdin
