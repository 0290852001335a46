"""Whether a login needs the agent of whoever is logged in: where nobody is, there is none.

Keys are looked at for whether a passphrase protects them, as far as their first lines tell: PEM (RFC 1421 and RFC 5958)
and OpenSSH's own form (PROTOCOL.key in OpenSSH's source).
"""

import base64
import binascii
from collections.abc import Sequence
from pathlib import Path

from fleetops.ssh.link import Link

_FIRST_BYTES = 4096
_OPENSSH = b"openssh-key-v1\0"


def needs_agent(link: Link) -> bool:
    """Whether this server, or a jump host before it, can be logged in to with a key of the agent's only."""
    hop: Link | None = link
    while hop is not None:
        if hop.may_use_agent and not any(map(opens_alone, hop.key_files)):
            return True
        hop = hop.via
    return False


def opens_alone(key: Path) -> bool:
    """Whether this is a private key that can be read and has no passphrase."""
    try:
        with key.open("rb") as file:
            text = file.read(_FIRST_BYTES)
    except OSError:
        return False
    lines = text.splitlines()
    if not lines or b"PRIVATE KEY" not in lines[0]:
        return False
    if b"OPENSSH" in lines[0]:
        return _cipher(lines[1:]) == b"none"
    return b"ENCRYPTED" not in lines[0] and not any(b"ENCRYPTED" in line for line in lines[1:3])


def _cipher(lines: Sequence[bytes]) -> bytes:
    """What OpenSSH's form is encrypted with; b"" where it is not understood."""
    text = b"".join(line for line in lines if not line.startswith(b"-"))
    try:
        data = base64.b64decode(text[: len(text) // 4 * 4])
    except binascii.Error:
        return b""
    if not data.startswith(_OPENSSH):
        return b""
    rest = data.removeprefix(_OPENSSH)
    return rest[4 : 4 + int.from_bytes(rest[:4])]
