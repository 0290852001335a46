"""The files that servers and clients are given: sshd's and ssh's configuration, known_hosts, inventories."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SOCKETS_PER_SSHD = 16  # sshd listens on no more (MAX_LISTEN_SOCKS in its source)
CURVE25519 = "curve25519-sha256"


@dataclass(frozen=True, kw_only=True)
class Login:
    """How every host is logged in to."""

    user: str
    port: int
    key: Path
    known_hosts: Path


def sshd_config(
    addresses: Sequence[str], port: int, *, host_key: Path, authorized_keys: Path, home: Path, user: str
) -> str:
    """One server for up to 16 addresses. It lets only `user` in, and only by key.

    The home folder is one of the benchmark's own: start-up files of whoever runs it would be part of every figure.
    Raises ValueError for more addresses than one server takes.
    """
    if not 0 < len(addresses) <= SOCKETS_PER_SSHD:
        raise ValueError(f"one sshd listens on 1 to {SOCKETS_PER_SSHD} addresses, not {len(addresses)}")
    lines = [
        *(f"ListenAddress {address}:{port}" for address in addresses),
        f"HostKey {host_key}",
        f"AuthorizedKeysFile {authorized_keys}",
        f"AllowUsers {user}",
        f"SetEnv HOME={home}",
        "PermitRootLogin prohibit-password",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "UsePAM no",
        "StrictModes no",
        "PidFile none",
        "PrintMotd no",
        "PrintLastLog no",
        "UseDNS no",
        "X11Forwarding no",
        # A fan-out is refused by nobody here: what a refusal costs is another question.
        "MaxStartups 4096",
        "LogLevel ERROR",
    ]
    return "\n".join(lines) + "\n"


def ssh_config(login: Login, *, key_exchange: str = "") -> str:
    """What every client that reads an ssh_config is given; host keys are verified."""
    lines = [
        "Host *",
        f"  User {login.user}",
        f"  Port {login.port}",
        f"  IdentityFile {login.key}",
        "  IdentitiesOnly yes",
        f"  UserKnownHostsFile {login.known_hosts}",
        "  GlobalKnownHostsFile none",
        "  StrictHostKeyChecking yes",
        "  BatchMode yes",
        "  LogLevel ERROR",
        *([f"  KexAlgorithms {key_exchange}"] if key_exchange else []),
    ]
    return "\n".join(lines) + "\n"


def known_hosts(public_keys: Mapping[str, str], port: int) -> str:
    """`public_keys` by address, each as `TYPE BASE64`."""
    return "".join(f"[{address}]:{port} {key}\n" for address, key in public_keys.items())


def node_name(place: int) -> str:
    """The inventory's name of the host at this place of the list."""
    return f"node-{place + 1:04}"


def fleet_yaml(addresses: Sequence[str], login: Login, *, ssh_config: Path, state: Path) -> str:
    """Fleetops' inventory of these hosts. JSON strings are YAML strings."""
    settings = {
        "ssh-config": str(ssh_config),
        "known-hosts": str(login.known_hosts),
        "state": str(state),
    }
    lines = ["settings:", *(f"  {key}: {json.dumps(value)}" for key, value in settings.items()), "nodes:"]
    for place, address in enumerate(addresses):
        user = json.dumps(login.user)
        lines.append(f"  {node_name(place)}: {{address: {address}, user: {user}, port: {login.port}}}")
    return "\n".join(lines) + "\n"


def large_fleet_yaml(nodes: int, guests_each: int = 8) -> str:
    """An inventory as a large operator has it: every node a guest, with hypervisors, labels and groups by rack."""
    lines = ["hypervisors:"]
    hosts = [f"pve-{number:04}" for number in range(-(-nodes // guests_each))]
    lines += [f"  {host}: {{address: {host}.example, user: root}}" for host in hosts]
    lines.append("nodes:")
    for number in range(nodes):
        lines += [
            f"  node-{number:04}:",
            f"    address: node-{number:04}.example",
            "    user: root",
            f"    hypervisor: pve-{number // guests_each:04}",
            f"    guest: {{kind: lxc, id: {100 + number}}}",
            "    gpus: 8",
            "    profile: hicache48",
            f"    labels: {{rack: r{number // 40:03}}}",
        ]
    lines.append("groups:")
    for first in range(0, nodes, 40):
        last = min(first + 39, nodes - 1)
        lines.append(f'  rack-{first // 40:03}: ["node-[{first:04}-{last:04}]"]')
    return "\n".join(lines) + "\n"


PROFILES_YAML = """\
profiles:
  hicache48:
    engine: sglang
    model: /models/example
    ranks: 8
    port: 30000
    flags:
      enable-hierarchical-cache: true
      hicache-size: {value: 48, unit: GB, scope: per-rank}
"""


def pyinfra_inventory(addresses: Sequence[str], login: Login, ssh_config: Path) -> str:
    """pyinfra's, a Python file; host keys are verified."""
    data = {
        "ssh_user": login.user,
        "ssh_port": login.port,
        "ssh_key": str(login.key),
        "ssh_config_file": str(ssh_config),
        "ssh_known_hosts_file": str(login.known_hosts),
        "ssh_strict_host_key_checking": "yes",
    }
    return f"hosts = {[(address, data) for address in addresses]!r}\n"
