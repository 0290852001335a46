"""`fleetops playbook run` on the lab: a clean restart, and a host that a person reboots."""

import json
import os
import select
import signal
import time
import uuid
from pathlib import Path

import pytest

from fleetops.engines.sglang import ENGINE
from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.paths import Layout
from fleetops.lab.spec import INIT_PID

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]

IMPATIENT = """\
summary: wait a moment, then stop
steps:
  - step: drain
    options: {deadline: 2s, quiet: 1s}
  - step: stop-service
    options: {grace: 1s}
"""


# A request that takes a while: an answer of twenty thousand tokens.
LONG = """
import json, urllib.request
body = json.dumps({"text": "x", "sampling_params": {"max_new_tokens": 20000, "ignore_eos": True}}).encode()
asked = urllib.request.Request("http://127.0.0.1:30000/generate", body, {"Content-Type": "application/json"})
urllib.request.urlopen(asked, timeout=600).read()
"""


def await_requests(fleet) -> None:
    session = fleet.connections.session(fleet.inventory.nodes["node-175"])
    until = time.monotonic() + 30
    while (seen := ENGINE.parse_others(session.request(30000, "GET", "/metrics").body.decode())).running != 1:
        assert time.monotonic() < until, seen
        time.sleep(0.1)


@pytest.fixture
def serving(fleet):
    """node-175 with a healthy service that tells its requests."""
    node = BrokenNode(fleet.lab.folder, "node-175")
    node.clear()
    node.serve()
    yield node
    node.clear()


@pytest.mark.long
def test_a_service_with_requests_is_not_stopped_and_an_idle_one_is_restarted(fleet, serving, tmp_path):
    [before] = fleet.look("node-175").services
    (tmp_path / "impatient.yaml").write_text(IMPATIENT)
    serving.spawn("python3", "-c", LONG)
    await_requests(fleet)
    ran = fleet.fleetops("playbook", "run", "impatient.yaml", "node-175", "--yes", "--json")
    assert (ran.status, ran.json["status"]) == (4, "failed"), ran.stderr
    assert "is not idle after 2 s: 1 running, 0 waiting; nothing was stopped" in ran.json["why"]
    assert fleet.changes(ran.json) == []
    assert fleet.look("node-175").services[0].launcher.pid == before.launcher.pid

    cut = fleet.fleetops(
        "playbook", "run", "impatient.yaml", "node-175", "--yes", "--json", "--from", "stop-service"
    )
    assert (cut.status, cut.json["left_out"]) == (0, "--from stop-service: drain left out"), cut.stderr
    begin = json.loads((Path(cut.json["evidence"]) / "journal.jsonl").read_text().splitlines()[0])
    assert begin["left_out"] == cut.json["left_out"]
    assert begin["file"] == cut.json["file"] == str(tmp_path / "impatient.yaml")
    assert fleet.look("node-175").services == ()

    serving.serve()
    [before] = fleet.look("node-175").services
    ran = fleet.fleetops("playbook", "run", "drain-and-restart", "node-175", "--yes", "--json", timeout=300)
    assert (ran.status, ran.json["status"]) == (0, "done"), ran.stderr
    assert all(row["ok"] for row in ran.json["reclaimed"])
    [after] = fleet.look("node-175").services
    assert after.launcher.pid != before.launcher.pid
    assert fleet.generates("node-175") == 5


def test_a_wedged_service_is_refused_and_recover_is_named(fleet):
    fleet.break_node("zombies", "node-175")
    ran = fleet.fleetops("playbook", "run", "drain-and-restart", "node-175", "--yes")
    assert ran.status == 5
    assert "is wedged" in ran.stderr
    assert fleet.fleetops.typed("recover", "node-175", "--dry-run") in ran.stderr
    part = ("playbook", "run", "kill", "--only", "keep-evidence", "node-175")
    shown = fleet.fleetops(*part, "--dry-run")
    assert shown.status == 0, shown.stderr
    assert "--only keep-evidence: stop-service, clear-leftovers left out" in shown.stdout
    assert shown.stdout.splitlines()[-1].strip() == fleet.fleetops.typed(*part)
    BrokenNode(fleet.lab.folder, "node-175").clear()


def reboot(fleet, node: str) -> None:
    """What a person does to bare metal in the lab: its processes end, and its kernel begins anew."""
    folder = Layout(fleet.lab.folder).run(node)
    (folder / "kernel/boot_id").write_text(f"{uuid.uuid4()}\n")
    os.kill(int((folder / INIT_PID).read_text()), signal.SIGKILL)


def said(process, words: str) -> str:
    """What the command has written to stderr until these words come."""
    seen, until = "", time.monotonic() + 60
    while words not in seen:
        assert time.monotonic() < until, seen
        assert process.poll() is None, seen + process.stderr.read()
        if select.select([process.stderr], [], [], 1)[0]:
            seen += os.read(process.stderr.fileno(), 65536).decode()
    return seen


def test_a_reboot_is_waited_for_and_proven_by_the_boot_id(fleet):
    BrokenNode(fleet.lab.folder, "node-190").clear()
    process = fleet.fleetops.start("playbook", "run", "host-reboot-assist", "node-190", "--yes")
    told = said(process, "WAITING FOR A PERSON")
    said(
        process, "answers with the boot id of before: it has not been rebooted"
    ) if "of before" not in told else None
    reboot(fleet, "node-190")
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == 0, stdout + stderr
    assert "node-190 was rebooted, node-190 answers as itself, whole" in stdout
    assert "everything is back" in stdout
