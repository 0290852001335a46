"""Fixtures: a fleet of hostile servers, and a sweeper of any fleet, over real SSH."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import paramiko
import pytest
from hostile_server import ADDRESS, Answer, HostileServer

from fleetops.fleet.sweeping import Sweeper
from fleetops.inventory.load import load_inventory
from fleetops.model.fleet import Inventory
from fleetops.ssh.connections import Connections
from fleetops.store.database import Store
from fleetops.store.proofs import Proofs
from fleetops.store.sweeps import SweepStore


@pytest.fixture
def fleet_of(tmp_path: Path) -> Iterator[Callable[..., Inventory]]:
    """An inventory of servers that answer so, by name; a number instead of an answer is a port where nobody listens."""
    servers: list[HostileServer] = []

    def made(**answers: Answer | int) -> Inventory:
        folder = tmp_path / "inventory"
        folder.mkdir()
        ports: dict[str, int] = {}
        for name, answer in answers.items():
            if not isinstance(answer, int):
                servers.append(HostileServer(answer))
            ports[name.replace("_", "-")] = answer if isinstance(answer, int) else servers[-1].port
        paramiko.ECDSAKey.generate().write_private_key_file(str(folder / "id"))
        (folder / "known_hosts").write_text("".join(server.record for server in servers))
        (folder / "ssh_config").write_text(f"Host *\n  IdentityFile {folder}/id\n  IdentitiesOnly yes\n")
        nodes = [
            f"  {name}: {{address: {ADDRESS}, port: {port}, user: root}}" for name, port in ports.items()
        ]
        settings = "settings: {ssh-config: ssh_config, known-hosts: known_hosts, state: state}"
        (folder / "fleet.yaml").write_text("\n".join(["nodes:", *nodes, settings, ""]))
        return load_inventory(folder)

    yield made
    for server in servers:
        server.close()


@pytest.fixture
def sweeper(tmp_path: Path) -> Iterator[Callable[..., Sweeper]]:
    """Of all the hosts of an inventory."""
    opened: list[Connections] = []

    def made(inventory: Inventory, **options: object) -> Sweeper:
        opened.append(Connections(inventory.settings, environ=os.environ))
        state = tmp_path / "state"
        state.mkdir(exist_ok=True)
        return Sweeper(
            sessions=opened[-1],
            inventory=inventory,
            hosts=[*inventory.nodes.values(), *inventory.hypervisors.values()],
            memory=SweepStore(state),
            records=Store(state),
            proofs=Proofs(tmp_path / "cache"),
            **options,
        )

    yield made
    for connections in opened:
        connections.close()
