"""Secrets of a profile: in its environment and its flags they start the service, and are seen nowhere else."""

import shutil
import threading
from pathlib import Path

import pytest
from command_line import CommandLine

from fleetops.inventory.load import load_inventory
from fleetops.lab.breakages.base import BrokenNode
from fleetops.model.command import shell
from fleetops.ssh.connections import Connections

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]

IN_ENVIRONMENT = {
    "HF_TOKEN": "hf-tok-4711-environment",
    "WANDB_API_KEY": "wandb-4712-environment",
    "DB_PASSWORD": "pass 4713 'environment' $(x)",
}
IN_FLAGS = {"api-key": "sk-4714-flag-of-the-service"}
NODE = "node-174"

# Everything that any process of the node is called, as often as it can be read, until it is told to stop.
_WATCH = r"""
rm -f /tmp/watch-stop
while [ ! -e /tmp/watch-stop ]; do
    for file in /proc/[0-9]*/cmdline; do tr '\0' ' ' < "$file" 2>/dev/null; echo; done
    sleep 0.02
done | sort -u
"""


@pytest.fixture
def planted(lab, tmp_path):
    """The lab's inventory with the secrets in a profile of its own, on a node that is clean."""
    BrokenNode(lab.folder, NODE).clear()
    folder = tmp_path / "inventory"
    shutil.copytree(lab.inventory, folder)
    text = (folder / "profiles.yaml").read_text()
    block = text[text.index("  hicache48:") : text.index("  hicache-auto:")].replace("hicache48", "secretive")
    environment = "".join(f', {name}: "{value}"' for name, value in IN_ENVIRONMENT.items())
    flags = "".join(f"      {name}: {value}\n" for name, value in IN_FLAGS.items())
    block = block.replace('"0.2"}', f'"0.2"{environment}}}').replace("    flags:\n", f"    flags:\n{flags}")
    assert environment in block
    assert flags in block
    (folder / "profiles.yaml").write_text(f"{text}\n{block}")
    fleet = (folder / "fleet.yaml").read_text()
    state = tmp_path / "state"
    (folder / "fleet.yaml").write_text(_with_state(fleet, state))
    yield CommandLine(folder, tmp_path), state
    BrokenNode(lab.folder, NODE).clear()


def _with_state(fleet: str, state: Path) -> str:
    lines = [line for line in fleet.splitlines() if not line.strip().startswith("state:")]
    at = next(place for place, line in enumerate(lines) if line.startswith("settings:"))
    return "\n".join([*lines[: at + 1], f"  state: {state}", *lines[at + 1 :]]) + "\n"


@pytest.fixture
def watched(planted):
    """What processes of the node were called from now on until it is asked."""
    fleetops, _ = planted
    inventory = load_inventory(fleetops.inventory)
    with Connections(inventory.settings, environ={}) as connections:
        session = connections.session(inventory.nodes[NODE])
        seen = []
        watcher = threading.Thread(
            target=lambda: seen.append(session.run(shell(_WATCH, deadline_s=280, limit_bytes=64 << 20)))
        )
        watcher.start()

        def titles() -> list[str]:
            session.run(shell(": > /tmp/watch-stop", changes=True))
            watcher.join(30)
            return seen[0].stdout.splitlines()

        yield titles


def everything_in(folder: Path) -> str:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 3, files
    return "\n".join(f"{path}\n{path.read_bytes().decode('latin-1')}" for path in files)


def assert_absent(text: str, where: str, *more: str) -> None:
    for secret in (*IN_ENVIRONMENT.values(), *IN_FLAGS.values(), *more):
        assert secret not in text, f"{secret} in {where}"


def test_a_launch_and_all_that_looks_at_it_afterwards_show_no_secret(planted, watched):
    fleetops, state = planted
    launched = fleetops("launch", "--profile", "secretive", NODE, "--yes")
    titles = watched()
    assert launched.status == 0, launched
    told = [
        launched,
        fleetops("probe", NODE, "--json"),
        fleetops("inventory", "show", "secretive"),
        fleetops("kill", NODE, "--yes", "--json"),
        fleetops("runs", "--json"),
    ]
    for ran in told:
        assert_absent(ran.stdout, "stdout")
        assert_absent(ran.stderr, "stderr")
    assert_absent(everything_in(state), "the state folder")
    assert len(titles) > 20
    own = [title for title in titles if "sglang.launch_server" in title]
    assert any(IN_FLAGS["api-key"] in title for title in own), "the service itself has to be told"
    for secret in IN_ENVIRONMENT.values():
        assert not [title for title in titles if secret in title]


@pytest.mark.long
def test_a_launch_that_dies_shows_no_secret(planted):
    fleetops, state = planted
    profiles = fleetops.inventory / "profiles.yaml"
    head, _, tail = profiles.read_text().partition("  secretive:")
    profiles.write_text(head + "  secretive:" + tail.replace("{value: 48,", "{value: 2,"))
    ran = fleetops("launch", "--profile", "secretive", NODE, "--yes", "--json")
    assert ran.status == 4, ran
    assert_absent(ran.stdout + ran.stderr, "the output")
    assert_absent(everything_in(state), "the state folder")
