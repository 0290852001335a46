"""The start of a service, on a real host: detached, once, its environment its own, its log always a new file."""

import time

import pytest

from fleetops.inventory.load import load_inventory
from fleetops.model.command import Command, shell
from fleetops.ssh.connections import Connections
from fleetops.steps.start_service import _START

pytestmark = pytest.mark.lab

HOSTILE = {
    "PATH": "/nowhere:/usr/bin:/bin",
    "log": "/root/elsewhere",
    "claim": "x",
    "A": 'it\'s $(touch /root/ran) `x` "q"',
}


@pytest.fixture
def node(lab):
    inventory = load_inventory(lab.inventory)
    with Connections(inventory.settings, environ={}) as connections:
        yield connections.session(inventory.nodes["node-190"])


def start(node, claim: str, *argv: str, environment=HOSTILE):
    stdin = "".join(f"{name}={value}\n" for name, value in environment.items())
    log, record = f"/var/log/fleetops/{claim}.log", f"/run/fleetops/services/{claim}.json"
    head = (claim, log, record, "profile", "run", "30000")
    return node.run(shell(_START, *head, *argv, stdin=stdin, changes=True))


def read(node, path: str) -> str:
    return node.run(Command(argv=("cat", path))).stdout


def wait_for(node, path: str, text: str) -> str:
    for _ in range(100):
        if text in (content := read(node, path)):
            return content
        time.sleep(0.05)
    raise AssertionError(content)


def test_the_service_gets_exactly_its_environment_and_nothing_else_is_run(node, request):
    claim = request.node.name
    outcome = start(
        node, claim, "sh", "-c", 'printf "%s\\n" "$PATH" "$log" "$claim" "$A"; umask; echo end; exec sleep 60'
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
    assert f'"pid": {pid}, "start_ticks": {ticks}, "port": 30000' in record
    assert read(node, f"/proc/{pid}/cmdline") == "sleep\x0060\x00"
    stat = read(node, f"/proc/{pid}/stat").split()
    assert (stat[4], stat[5]) == (pid, pid), "it leads its own group and session"
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
    told = outcome.stdout + wait_for(node, f"/var/log/fleetops/{request.node.name}.log", "not found")
    assert "no-such-engine" in told
