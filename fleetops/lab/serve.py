"""Open every host's SSH port, and write down how a client reaches them."""

import json
import os
import socket
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import paramiko

from fleetops.lab import linux, trouble
from fleetops.lab.control import DOWN, HostDown, boot, entry, network, run_folder
from fleetops.lab.fleet import FLEET, LabHost, lab_host
from fleetops.lab.inventory import write_inventory
from fleetops.lab.keys import CLIENT_KEY, make_key, write_client_files
from fleetops.lab.machines import Machine
from fleetops.lab.paths import Layout
from fleetops.lab.spec import READY
from fleetops.lab.sshserver import Doors, HostServer
from fleetops.lab.trouble import Mark

SCHEMA = "fleetops.lab/1"
_BOOT_S = 30.0
_CONNECT_S = 5.0


def serve(layout: Layout) -> list[HostServer]:
    """A server for each host, and the files by which clients find them. The ports are closed until it is followed."""
    layout.ssh.mkdir(mode=0o700)
    client_key = make_key(layout.ssh / CLIENT_KEY)
    servers: list[HostServer] = []
    places: dict[str, tuple[str, int, str]] = {}
    for host in FLEET:
        key_file = layout.ssh / f"host_{host.name}"
        public = make_key(key_file)
        key = paramiko.Ed25519Key.from_private_key_file(str(key_file))
        server = HostServer(host.name, host.address, key, client_key, _doors(layout, host))
        places[host.name] = (host.address, server.port, public)
        servers.append(server)
    write_client_files(layout, places)
    write_inventory(layout, {server.name: server.port for server in servers})
    return servers


def _doors(layout: Layout, host: LabHost) -> Doors:
    """The ways into a host, or into another one where the port is said to lead there."""
    folder = run_folder(layout, host)

    def meant() -> LabHost:
        other = trouble.told(folder, Mark.IMPOSTOR)
        return lab_host(other) if other else host

    def boot_now() -> tuple[int, ...]:
        if trouble.has(folder, Mark.DEAD) or not (folder / READY).exists():
            raise HostDown(f"{host.name}: {DOWN}", host=host.name)
        return boot(layout, meant())

    return Doors(
        boot=boot_now,
        is_mute=lambda: trouble.has(folder, Mark.MUTE),
        entry=lambda: entry(layout, meant()),
        connect=lambda address, port: connect(layout, meant(), address, port),
    )


def connect(layout: Layout, host: LabHost, address: str, port: int) -> socket.socket:
    """A TCP connection from within a host's network. Raises OSError, HostDown."""
    with ThreadPoolExecutor(1) as goes_there:
        connection = goes_there.submit(_socket_in, network(layout, host)).result()
    connection.settimeout(_CONNECT_S)
    connection.connect(("127.0.0.1" if address == "localhost" else address, port))
    connection.settimeout(None)
    return connection


def _socket_in(namespace: Path) -> socket.socket:
    """A socket belongs to the network namespace of the thread that makes it.

    This thread goes there and ends: there is no way back into the machine's own network for who is root only in a
    user namespace.
    """
    descriptor = os.open(namespace, os.O_RDONLY)
    try:
        linux.join(descriptor, linux.NEWNET)
    finally:
        os.close(descriptor)
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM)


def await_boot(layout: Layout, machines: Sequence[Machine]) -> None:
    """Wait until all hosts have booted. Raises TimeoutError."""
    deadline = time.monotonic() + _BOOT_S
    waiting = {host.name: run_folder(layout, host) / READY for host in FLEET}
    while waiting := {name: path for name, path in waiting.items() if not path.exists()}:
        if time.monotonic() > deadline:
            raise TimeoutError(f"not up after {_BOOT_S:g} s: {', '.join(waiting)}")
        for machine in machines:
            machine.follow()
        time.sleep(0.02)


def write_record(layout: Layout, servers: Iterable[HostServer]) -> None:
    """The lab's record: it says that all is up."""
    ports = {server.name: server.port for server in servers}
    record = {"schema": SCHEMA, "ports": ports, "started_at": time.time()}
    fresh = Path(f"{layout.record}.new")
    fresh.write_text(json.dumps(record, indent=1))
    fresh.rename(layout.record)
