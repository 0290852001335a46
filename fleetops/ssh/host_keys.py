"""Paramiko's view of a server's key, and its question whether the key may be trusted."""

from collections.abc import Callable

import paramiko

from fleetops.ssh.known_hosts import HostKey


class RecordedKeysOnly(paramiko.MissingHostKeyPolicy):
    """Asked for every key, because the client is given no records of its own: ours are loaded once for all.

    Args:
        verify: raises for a key that is not on record.
    """

    def __init__(self, verify: Callable[[HostKey], None]) -> None:
        self._verify = verify
        self.accepted = False

    def missing_host_key(self, client: paramiko.SSHClient, hostname: str, key: paramiko.PKey) -> None:  # noqa: ARG002 - Paramiko's signature
        """Called by the client once it knows the key."""
        self._verify(host_key(key))
        self.accepted = True


def host_key(key: paramiko.PKey) -> HostKey:
    """Paramiko's key as known_hosts writes it."""
    return HostKey(key.get_name(), key.get_base64())
