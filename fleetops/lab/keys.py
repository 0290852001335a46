"""The lab's SSH keys and the files by which an SSH client finds its hosts."""

import os
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fleetops.lab.paths import Layout

CLIENT_KEY = "id_ed25519"


def make_key(path: Path) -> str:
    """A new private key in a file of its own (0600); the public half as one line of an authorized_keys file."""
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(private)
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    path.with_suffix(".pub").write_bytes(public + b"\n")
    return public.decode()


def write_client_files(layout: Layout, hosts: dict[str, tuple[str, int, str]]) -> None:
    """ssh_config and known_hosts for hosts given as name -> (address, port, public host key)."""
    known = [f"[{address}]:{port} {key}\n" for address, port, key in hosts.values()]
    (layout.ssh / "known_hosts").write_text("".join(known))
    blocks = [
        f"Host {name}\n  HostName {address}\n  Port {port}\n" for name, (address, port, _) in hosts.items()
    ]
    (layout.ssh / "config").write_text(
        "".join(f"{block}\n" for block in blocks) + "Host *\n  User root\n"
        f"  IdentityFile {layout.ssh / CLIENT_KEY}\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {layout.ssh / 'known_hosts'}\n  StrictHostKeyChecking yes\n"
    )
