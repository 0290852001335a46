"""Real OpenSSH servers on loopback, each with its own configuration and keys; this user logs in to itself."""

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fleetops.model.fleet import Node, Settings
from fleetops.ssh.connections import Connections

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
ADDRESS = "127.0.0.1"


def free_port():
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        return probe.getsockname()[1]


def make_key(path):
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path],
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return Path(f"{path}.pub").read_text().strip()


@dataclass
class Server:
    """One sshd in the foreground."""

    folder: Path
    port: int
    public_key: str
    process: subprocess.Popen = field(repr=False)

    @property
    def record(self):
        return f"[{ADDRESS}]:{self.port} {self.public_key}\n"

    def log(self):
        return (self.folder / "log").read_text()

    def stop(self):
        """End the listener, every connection and what runs over it."""
        self.cut()
        self.process.kill()
        self.process.wait()

    def cut(self):
        """End every connection, and what runs over it."""
        for pid in descendants(self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def descendants(pid):
    try:
        children = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except FileNotFoundError:
        return []
    return [*children, *(grandchild for child in children for grandchild in descendants(child))]


def running(word):
    """The processes of this machine that have this word in their command line, as an argument of its own."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if word.encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def await_gone(word, deadline_s=5.0):
    until = time.monotonic() + deadline_s
    while (left := running(word)) and time.monotonic() < until:
        time.sleep(0.02)  # not our children: there is nothing to wait on
    return left


def start_server(folder, authorized, *options, environment=""):
    folder.mkdir()
    public_key = make_key(folder / "host_key")
    port = free_port()
    lines = [
        # sshd takes the first of two, but of this one the last.
        "MaxStartups 200",
        *options,
        f"Port {port}",
        f"ListenAddress {ADDRESS}",
        f"HostKey {folder}/host_key",
        f"AuthorizedKeysFile {authorized}",
        "PidFile none",
        "StrictModes no",
        "UsePAM no",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "PermitRootLogin yes",
        "LogLevel VERBOSE",
        # One line, as sshd takes only the first; the start-up files of whoever runs the tests stay out of them.
        f"SetEnv HOME={folder} {environment}",
    ]
    (folder / "config").write_text("\n".join(lines) + "\n")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    process = subprocess.Popen(
        [SSHD, "-D", "-f", folder / "config", "-E", folder / "log"],
        start_new_session=True,
        stdin=subprocess.DEVNULL,
    )
    server = Server(folder, port, public_key, process)
    await_port(server)
    return server


def await_port(server, deadline_s=10.0):
    until = time.monotonic() + deadline_s
    while time.monotonic() < until and server.process.poll() is None:
        try:
            socket.create_connection((ADDRESS, server.port), timeout=1).close()
        except ConnectionRefusedError:
            time.sleep(0.01)  # sshd has no way to say that it listens
        else:
            return
    pytest.fail(f"sshd did not start: {server.log()}")


@dataclass
class Site:
    """A folder with a client key and files, and servers that let that key in."""

    folder: Path
    key: Path
    servers: list[Server] = field(default_factory=list)

    @property
    def known_hosts(self):
        return self.folder / "known_hosts"

    @property
    def ssh_config(self):
        return self.folder / "ssh_config"

    @property
    def settings(self):
        return Settings(ssh_config=self.ssh_config, known_hosts=self.known_hosts)

    def serve(self, *options, known=True, environment=""):
        server = start_server(
            self.folder / f"server-{len(self.servers)}", f"{self.key}.pub", *options, environment=environment
        )
        self.servers.append(server)
        if known:
            with self.known_hosts.open("a") as file:
                file.write(server.record)
        return server

    def configure(self, text):
        """Put more specific lines in front of what ssh_config says."""
        self.ssh_config.write_text(f"{text}\nHost *\n  IdentityFile {self.key}\n  UserKnownHostsFile none\n")

    def connections(self, **options):
        environ = {"HOME": str(self.folder / "home")}
        return Connections(self.settings, environ=environ, **options)


def node(server, name="node-1", **options):
    port = server if isinstance(server, int) else server.port
    return Node(**({"name": name, "address": ADDRESS, "port": port, "user": getpass.getuser()} | options))


def make_site(folder):
    make_key(folder / "key")
    (folder / "home").mkdir()
    made = Site(folder, folder / "key")
    made.configure("")
    return made
