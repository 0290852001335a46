"""What the recovery's tests ask of the lab: how a node is, who else is there, what was done."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine
from left_out import leave_out

from fleetops.fleet.observe import observe
from fleetops.inventory.load import load_inventory
from fleetops.lab import api
from fleetops.lab.api import Lab
from fleetops.model.command import Command
from fleetops.model.finding import Observation
from fleetops.model.fleet import Inventory
from fleetops.ssh.connections import Connections


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Most cells of the matrix are run by `make recovery-matrix` alone."""
    leave_out(config, items, "matrix")


@dataclass
class Fleet:
    """The lab's hosts as a test sees them, through connections of its own."""

    lab: Lab
    inventory: Inventory
    connections: Connections
    fleetops: CommandLine

    def run(self, host: str, *argv: str) -> str:
        outcome = self.connections.session(self.inventory.host(host)).run(Command(argv=argv))
        assert outcome.ok, outcome
        return outcome.stdout

    def look(self, node: str = "node-174") -> Observation:
        return observe(self.connections, self.inventory, self.inventory.nodes[node])

    def break_node(self, kind: str, node: str = "node-174") -> None:
        api.break_node(self.lab.folder, node, kind)

    def process_table(self, host: str) -> dict[int, tuple[int, str]]:
        """pid -> start time and command line of everything on the host that is no call of ours."""
        table = self.look(host).node_facts.readings["processes"]
        return {process.pid: (process.start_ticks, process.title) for process in table}

    def generates(self, node: str = "node-174", port: int = 30000) -> int:
        """Tokens of one real generation."""
        body = json.dumps(
            {"text": "hello", "sampling_params": {"max_new_tokens": 5, "ignore_eos": True}}
        ).encode()
        session = self.connections.session(self.inventory.nodes[node])
        answer = session.request(port, "POST", "/generate", body, deadline_s=20)
        assert answer.status == 200, answer
        return int(json.loads(answer.body)["meta_info"]["completion_tokens"])

    def changes(self, result: dict[str, Any]) -> list[list[str]]:
        """The argvs of every change that a run's journal holds, each with its host in front."""
        lines = (Path(result["evidence"]) / "journal.jsonl").read_text().splitlines()
        events = [json.loads(line) for line in lines]
        return [[event["host"], *event["argv"]] for event in events if event["event"] == "intent"]


@pytest.fixture
def fleet(lab: Lab, fleetops: CommandLine) -> Iterator[Fleet]:
    inventory = load_inventory(lab.inventory)
    with Connections(inventory.settings, environ={}) as connections:
        yield Fleet(lab, inventory, connections, fleetops)
