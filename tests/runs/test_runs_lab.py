"""A run on a host of the lab, told and packed, with secrets about: in the inventory, in its environment, in a process's flags."""

import json
import tarfile
from pathlib import Path

import pytest
from command_line import CommandLine

from fleetops.inventory.load import load_inventory
from fleetops.lab import api
from fleetops.lab.api import Lab
from fleetops.model.command import shell
from fleetops.ssh.connections import Connections

pytestmark = [pytest.mark.lab, pytest.mark.timeout(120)]

NODE = "node-190"
PLANTED = ("planted-flag-1", "planted-word-2", "planted-proxy-3", "planted-argv-4", "planted-part-5")
SECRETS = f'{{HF_TOKEN: "{PLANTED[1]}", SITE_KEY: "{PLANTED[1]}x", HTTPS_PROXY: "http://bob:{PLANTED[2]}@proxy:3128"}}'
# A process of somebody else, whose command line everybody on the host can read.
STRANGER = (
    f"setsid python3 -c 'import time; time.sleep(100)' --api-key {PLANTED[3]} http://bob:{PLANTED[4]}@proxy"
    " > /dev/null 2>&1 < /dev/null & echo $!"
)


@pytest.fixture
def secretive(lab: Lab, tmp_path: Path) -> CommandLine:
    """The lab's inventory with secrets in it, and a state folder of its own."""
    own = tmp_path / "inventory"
    own.mkdir()
    fleet = (lab.inventory / "fleet.yaml").read_text()
    (own / "fleet.yaml").write_text(fleet.replace(f"state: {lab.folder}/state", f"state: {tmp_path}/state"))
    profiles = (lab.inventory / "profiles.yaml").read_text()
    assert "environment: " in profiles
    lines = [
        f"    environment: {SECRETS}" if line.strip().startswith("environment:") else line
        for line in profiles.replace(
            "    flags:\n", f"    flags:\n      api-key: {PLANTED[0]}\n"
        ).splitlines()
    ]
    (own / "profiles.yaml").write_text("\n".join(lines) + "\n")
    return CommandLine(own, tmp_path)


@pytest.fixture
def stranger(lab: Lab):
    inventory = load_inventory(lab.inventory)
    with Connections(inventory.settings, environ={}) as connections:
        session = connections.session(inventory.host(NODE))
        pid = session.run(shell(STRANGER)).stdout.strip()
        yield
        session.run(shell("kill $1", pid))


def test_a_run_is_told_and_packed_without_a_secret(lab, secretive, stranger, tmp_path):
    api.break_node(lab.folder, NODE, "zombies")
    ran = secretive("kill", NODE, "--yes", "--json")
    assert ran.status == 0, ran.stderr
    run_id = ran.json["run"]

    told = secretive("runs", "show", run_id[-6:], "--json").json
    assert (told["status"], told["versions"]["NVIDIA driver"]) == ("done", "570.133.20")
    assert "ranks-dead" in {finding["check"] for finding in told["findings"]}
    assert [one["step"] for one in told["planned"]] == [one["step"] for one in told["steps"]]
    [stop] = [step for step in told["steps"] if step["step"] == "stop-service"]
    assert {change["outcome"] for change in stop["changes"]} == {"done"}
    assert stop["changes"][0]["host"] == NODE
    screen = secretive("runs", "show", run_id).stdout
    assert [word for word in screen.splitlines() if word in {"planned", "done", "verified", "ended"}] == [
        "planned",
        "done",
        "verified",
        "ended",
    ]

    packed = secretive("runs", "show", run_id, "--bundle", "--json").json["bundle"]
    names = {member["name"] for member in packed["members"]}
    assert {"facts-before.json", "facts-after.json", "journal.jsonl", "processes.txt", "stacks.txt"} < names
    assert not {"facts before", "facts after", "process table", "stacks"} & set(packed["missing"])
    with tarfile.open(packed["path"]) as tar:
        tar.extractall(tmp_path / "unpacked", filter="data")
    inside = {path.name: path.read_text() for path in (tmp_path / "unpacked" / run_id).iterdir()}
    before, after = (json.loads(inside[f"facts-{when}.json"])["node_facts"] for when in ("before", "after"))
    assert before["at"] < after["at"]
    assert "--api-key" in inside["processes.txt"]
    kept = [path.read_text(errors="replace") for path in (tmp_path / "state").rglob("*") if path.is_file()]
    for secret in PLANTED:
        for where in (ran.stdout, json.dumps(told), screen, *inside.values(), *kept):
            assert secret not in where
