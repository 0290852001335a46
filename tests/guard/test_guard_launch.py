"""The guard in a launch, on the lab: the node is not lost, the report says why, and a launch without a guard does not go on."""

import contextlib
import json
import shutil
import threading
import time
from pathlib import Path

import pytest
from command_line import CommandLine
from own_start import install_systemd, remove_systemd

from fleetops.facts.memory_guard import FACT, FOLDER
from fleetops.fleet.observe import observe
from fleetops.inventory.load import load_inventory
from fleetops.lab.breakages.base import BrokenNode
from fleetops.model.command import Command, shell
from fleetops.ssh.connections import Connections

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]

GB = 10**9
NODE = "node-174"
# Somebody else takes memory on the node, as a driver pins it, until it is killed.
NEIGHBOUR = """
import sys, time
sys.path.insert(0, "/opt/fleetops-lab/lib")
from fleetops.lab.driver import Ledger
Ledger().take("neighbour").set(host_bytes=int(sys.argv[1]))
time.sleep(120)
"""


class Node:
    """node-174 as a test sees it, over a connection of its own."""

    def __init__(self, lab, connections, inventory) -> None:
        self.lab, self._connections, self._inventory = lab, connections, inventory
        self.session = connections.session(inventory.nodes[NODE])

    def look(self):
        return observe(self._connections, self._inventory, self._inventory.nodes[NODE])

    def guards(self):
        found = FACT.read(self.session.run(FACT.command))
        return {one.run_id: one for one in found}

    def guard(self, is_true, seconds=60):
        """The first guard of which that is true, once there is one."""
        deadline = time.monotonic() + seconds
        while True:
            for one in self.guards().values():
                if is_true(one):
                    return one
            assert time.monotonic() < deadline, self.guards()
            time.sleep(0.05)

    def kill(self, pid):
        assert self.session.run(Command(argv=("kill", "-KILL", str(pid)), changes=True)).ok

    def crowd(self, size_bytes):
        """A neighbour takes that much; returns its pid."""
        script = 'setsid python3 -c "$1" "$2" > /dev/null 2>&1 < /dev/null & echo $!'
        return int(self.session.run(shell(script, NEIGHBOUR, str(size_bytes), changes=True)).stdout)

    @property
    def ranks(self):
        return [rank for service in self.look().services for rank in service.ranks]


@pytest.fixture
def node(lab):
    inventory = load_inventory(lab.inventory)
    BrokenNode(lab.folder, NODE).clear()
    with Connections(inventory.settings, environ={}) as connections:
        yield Node(lab, connections, inventory)
    BrokenNode(lab.folder, NODE).clear()


@pytest.fixture
def slow(lab, tmp_path):
    """The command line, and a profile `slow` whose service takes its time to come up."""
    folder = tmp_path / "inventory"
    shutil.copytree(lab.inventory, folder)
    text = (folder / "profiles.yaml").read_text()
    block = text[text.index("  hicache48:") : text.index("  hicache-auto:")]
    block = block.replace("hicache48", "slow").replace('"0.2"', '"4"')
    (folder / "profiles.yaml").write_text(f"{text}\n{block}")
    return CommandLine(folder, tmp_path)


@contextlib.contextmanager
def asking(node):
    """Somebody runs a command over SSH, over and over: how long each took, None where it failed."""
    took, stop = [], threading.Event()

    def ask() -> None:
        while not stop.wait(0.05):
            begun = time.monotonic()
            ok = node.session.run(Command(argv=("true",), deadline_s=10)).ok
            took.append(time.monotonic() - begun if ok else None)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield took
    finally:
        stop.set()
        thread.join()


def test_the_incident_with_the_size_waived_ends_the_engine_and_not_the_node(node, fleetops):
    waived = ("--waive", "size=to see the guard work")
    with asking(node) as took:
        ran = fleetops("launch", "--profile", "hicache300", NODE, "--yes", "--json", *waived)
    assert ran.status == 4, ran
    assert ran.json["waived"] == {"size": "to see the guard work"}
    why = ran.json["why"]
    assert "the memory guard ended it: MemAvailable fell to 1" in why
    assert "below the floor of 16 GB, 8 x 300 GB asked; " in why
    assert "s after the start" in why
    assert "what was started is ended" in why
    assert "nothing of it is left on node-174" in ran.json["hint"]
    # The node answered all the while: every single command, and none of them late.
    assert len(took) > 20
    assert None not in took
    assert max(took) < 5
    # And it is as it was before.
    after = node.look()
    assert after.services == ()
    facts = after.node_facts.readings
    assert facts["memory"].available_bytes > 444 * GB
    assert facts["segments"] == ()
    assert sum(gpu.memory_used_bytes for gpu in facts["gpus"].gpus) < 2**30
    assert not any("/run/fleetops/guard/" in " ".join(one.cmdline) for one in facts["processes"])
    kept = node.guards()[ran.json["run"]]
    assert kept.killed.processes >= 9
    assert kept.lowest_bytes > 9 * GB, "the node's own end was not reached"


def test_it_is_armed_before_its_service_which_is_a_unit_and_disarmed_after_the_watch(node, fleetops):
    install_systemd(node.session)
    try:
        ran = fleetops("launch", "--profile", "hicache48", NODE, "--yes", "--json")
        assert ran.status == 0, ran
        run = ran.json["run"]
        guard = node.guards()[run]
        assert (guard.mode, guard.alive) == ("reporting", True)
        assert guard.start_ticks < guard.service[1], "it was there first"
        assert 16 * GB < guard.lowest_bytes < 60 * GB
        observation = node.look()
        (record,) = [one for one in observation.node_facts.readings["service-records"] if one.run_id == run]
        (service,) = observation.services
        assert (service.launcher.pid, service.launcher.start_ticks) == guard.service
        assert (record.pid, record.unit) == (service.launcher.pid, f"fleetops-hicache48-{run}.service")
        # A neighbour's spike never kills a healthy service.
        neighbour = node.crowd(45 * GB)
        node.guard(lambda one: one.run_id == run and one.lowest_bytes < 16 * GB)
        assert len(node.ranks) == 8
        node.kill(neighbour)
        stopped = fleetops("kill", NODE, "--yes", "--json")
        assert stopped.status == 0, stopped
        assert node.session.run(shell("ls /run/systemd/stand-in")).stdout == "", "no failed unit is left"
        # It ends by itself when the service is gone.
        node.guard(lambda one: one.run_id == run and not one.alive and one.ended)
    finally:
        remove_systemd(node.session)
    lines = Path(stopped.json["evidence"], "journal.jsonl").read_text().splitlines()
    changes = [event["argv"] for event in map(json.loads, lines) if event["event"] == "intent"]
    assert changes[0][:3] == ["systemctl", "stop", "--no-block"]


def test_a_guard_that_dies_before_readiness_ends_the_launch_with_its_reason(node, slow):
    running = slow.start("launch", "--profile", "slow", NODE, "--yes", "--json")
    guard = node.guard(lambda one: one.profile == "slow" and one.armed and one.service)
    node.kill(guard.pid)
    out, err = running.communicate(timeout=120)
    assert running.returncode == 4, err
    assert (
        "the memory guard is gone without a word; without it the launch does not go on"
        in json.loads(out)["why"]
    )
    assert node.look().services == ()


def test_a_launch_whose_guard_cannot_be_armed_starts_nothing(node, fleetops):
    node.session.run(shell('mv "$1" "$1.aside"; : > "$1"', FOLDER, changes=True))
    try:
        ran = fleetops("launch", "--profile", "hicache48", NODE, "--yes", "--json")
    finally:
        node.session.run(
            shell('rm "$1"; mv "$1.aside" "$1" 2>/dev/null || mkdir -p "$1"', FOLDER, changes=True)
        )
    assert ran.status == 5, ran
    assert "no memory guard could be armed on node-174, so hicache48 is not started" in ran.json["why"]
    assert node.look().services == ()
    assert not any(name.endswith("start-service") for name in claims(node, ran.json["run"]))


def claims(node, run_id):
    return node.session.run(shell('ls -d /run/fleetops/claims/"$1".*', run_id)).stdout.split()


def test_without_its_controller_it_stays_armed_and_ends_what_takes_too_much(node, slow):
    running = slow.start("launch", "--profile", "slow", NODE, "--yes")
    guard = node.guard(lambda one: one.profile == "slow" and one.armed and one.service)
    running.kill()
    running.communicate()
    neighbour = node.crowd(435 * GB)
    told = node.guard(lambda one: one.run_id == guard.run_id and one.ended)
    node.kill(neighbour)
    assert told.killed.room_bytes < 16 * GB
    assert told.killed.left == 0
    assert [rank for rank in node.ranks if rank.process.is_alive] == []


def test_a_dry_run_shows_the_guard_and_where_the_service_would_run(node, fleetops):
    ran = fleetops("launch", "--profile", "hicache48", NODE, "--dry-run", "--scripts")
    assert ran.status == 0, ran
    assert "arm the memory guard" in ran.stdout
    assert "ends the service below 16 GB" in ran.stdout
    assert "fleetops-guard" in ran.stdout
    assert "systemd-run --quiet" in ran.stdout
    assert "in a session of its own: systemd does not run there" in ran.stdout
