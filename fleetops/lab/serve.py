"""Open every host's SSH port, and write down how a client reaches them."""

import json
import os
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import paramiko

from fleetops.lab import linux
from fleetops.lab.control import boot, entry, network, run_folder
from fleetops.lab.fleet import FLEET, LabHost
from fleetops.lab.inventory import write_inventory
from fleetops.lab.keys import CLIENT_KEY, make_key, write_client_files
from fleetops.lab.paths import Layout
from fleetops.lab.spec import READY
from fleetops.lab.sshserver import Doors, HostServer, listen

SCHEMA = "fleetops.lab/1"
_BOOT_S = 30.0
_CONNECT_S = 5.0


def serve(layout: Layout) -> dict[str, HostServer]:
    """Serve all hosts, wait until all have booted, and only then write the lab's record: it says that all is up."""
    layout.ssh.mkdir(mode=0o700)
    client_key = make_key(layout.ssh / CLIENT_KEY)
    servers: dict[str, HostServer] = {}
    places: dict[str, tuple[str, int, str]] = {}
    for host in FLEET:
        key_file = layout.ssh / f"host_{host.name}"
        public = make_key(key_file)
        listener = listen(host.address)
        places[host.name] = (host.address, listener.getsockname()[1], public)
        doors = Doors(
            partial(boot, layout, host), partial(entry, layout, host), partial(connect, layout, host)
        )
        key = paramiko.Ed25519Key.from_private_key_file(str(key_file))
        servers[host.name] = HostServer(host.name, listener, key, client_key, doors)
        servers[host.name].start()
    write_client_files(layout, places)
    write_inventory(layout, {name: port for name, (_, port, _) in places.items()})
    _await_boot(layout)
    _write_record(layout, {name: port for name, (_, port, _) in places.items()})
    return servers


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


def _await_boot(layout: Layout) -> None:
    deadline = time.monotonic() + _BOOT_S
    waiting = {host.name: run_folder(layout, host) / READY for host in FLEET}
    while waiting := {name: path for name, path in waiting.items() if not path.exists()}:
        if time.monotonic() > deadline:
            raise TimeoutError(f"not up after {_BOOT_S:g} s: {', '.join(waiting)}")
        time.sleep(0.02)


def _write_record(layout: Layout, ports: dict[str, int]) -> None:
    record = {"schema": SCHEMA, "ports": ports, "started_at": time.time()}
    fresh = Path(f"{layout.record}.new")
    fresh.write_text(json.dumps(record, indent=1))
    fresh.rename(layout.record)
