"""The start of a service, on a real host: detached, once, its environment its own, its log always a new file."""

import json

import pytest
from own_start import CLAIMS, read, start, wait_for

from fleetops.inventory.load import load_inventory
from fleetops.model.command import Command, shell
from fleetops.ssh.connections import Connections

pytestmark = pytest.mark.lab

HOSTILE = {
    "PATH": "/nowhere:/usr/bin:/bin",
    "log": "/root/elsewhere",
    "claim": "x",
    "line": "its own",
    "A": 'it\'s $(touch /root/ran) `x` "q"',
}


@pytest.fixture
def node(lab):
    inventory = load_inventory(lab.inventory)
    with Connections(inventory.settings, environ={}) as connections:
        yield connections.session(inventory.nodes["node-190"])


def test_the_service_gets_exactly_its_environment_and_nothing_else_is_run(node, request):
    claim = request.node.name
    outcome = start(
        node,
        claim,
        *("sh", "-c", 'printf "%s\\n" "$PATH" "$log" "$claim" "$line" "$A"; umask; echo end; exec sleep 60'),
        environment=HOSTILE,
    )
    assert outcome.ok, outcome
    pid, _ = map(int, outcome.stdout.split())
    told = wait_for(node, f"/var/log/fleetops/{claim}.log", "end\n").splitlines()
    assert told == [*HOSTILE.values(), "0022", "end"]
    assert not node.run(Command(argv=("test", "-e", "/root/ran"))).ok
    node.run(Command(argv=("kill", str(pid)), changes=True))


def test_its_record_names_the_process_that_runs(node, request):
    claim = request.node.name
    pid, ticks = start(node, claim, "sleep", "60").stdout.split()
    record = read(node, f"/run/fleetops/services/{claim}.json")
    fields = json.loads(record)
    assert (fields["pid"], fields["start_ticks"], fields["port"]) == (int(pid), int(ticks), 30000)
    assert fields["unit"] == "", "systemd does not run there"
    assert read(node, f"{CLAIMS}/{claim}/pid").split() == [pid, ticks], "where its guard learns of it"
    assert read(node, f"/proc/{pid}/cmdline") == "sleep\x0060\x00"
    stat = read(node, f"/proc/{pid}/stat").split()
    assert (stat[4], stat[5]) == (pid, pid), "it leads its own group and session"
    node.run(Command(argv=("kill", pid), changes=True))


def test_nothing_of_its_environment_stays_on_the_host(node, request):
    claim = request.node.name
    pid, _ = start(node, claim, "sleep", "60", environment={"TOKEN": "hunter2"}).stdout.split()
    assert node.run(Command(argv=("ls", f"{CLAIMS}/{claim}"))).stdout == "pid\n"
    argvs = node.run(shell("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")).stdout
    assert "hunter2" not in argvs
    node.run(Command(argv=("kill", pid), changes=True))


def test_it_is_the_first_that_the_kernel_ends_when_memory_is_short(node, request):
    pid, _ = start(node, request.node.name, "sleep", "60").stdout.split()
    assert read(node, f"/proc/{pid}/oom_score_adj") == "500\n"
    node.run(Command(argv=("kill", pid), changes=True))


def test_the_same_start_submitted_again_does_nothing(node, request):
    claim = request.node.name
    pid, _ = start(node, claim, "sleep", "60").stdout.split()
    again = start(node, claim, "sleep", "60")
    assert again.status == 76
    assert "submitted before" in again.stdout
    node.run(Command(argv=("kill", pid), changes=True))


def test_an_existing_log_is_never_overwritten(node, request):
    claim = request.node.name
    node.run(
        shell('mkdir -p /var/log/fleetops && echo old > "/var/log/fleetops/$1.log"', claim, changes=True)
    )
    assert not start(node, claim, "sleep", "60").ok
    assert read(node, f"/var/log/fleetops/{claim}.log") == "old\n"


def test_a_command_that_does_not_exist_is_told(node, request):
    outcome = start(node, request.node.name, "no-such-engine")
    assert (outcome.status, outcome.said) == (1, "no-such-engine: not found")
