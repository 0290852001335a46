"""A source file's bytes: as text, and the words in them. The same for a folder of this machine and for a node's."""

import re
from functools import cache

GIANT_BYTES = 16 * 2**20
"""A larger .py file is no code that a person wrote; it is hashed, and not read."""

# As PEP 263 has it: a comment in one of the first two lines, the first of which is empty but for a comment.
_COOKIE = re.compile(rb"\A(?:[ \t\f]*(?:#[^\r\n]*)?\r?\n)?[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_WORD = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
_ONLY_WORDS = bytes(byte if byte in _WORD else ord(" ") for byte in range(256))
_BOM = b"\xef\xbb\xbf"


def decode(data: bytes) -> str:
    """As Python reads it: UTF-8, or what its coding line says; what is neither is carried through (surrogateescape)."""
    data = data.removeprefix(_BOM)
    try:
        return data.decode()
    except UnicodeDecodeError:
        cookie = _COOKIE.match(data)
    try:
        return data.decode(cookie[1].decode("ascii") if cookie else "ascii")
    except (LookupError, UnicodeDecodeError):
        return data.decode("utf-8", "surrogateescape")


@cache
def word(name: str) -> re.Pattern[bytes]:
    """This identifier as a whole word, as `LC_ALL=C grep -w` has it."""
    # The pattern begins with the name, which is searched for at once; what stands before it is looked at afterwards.
    sought = re.escape(name.encode())
    return re.compile(sought + rb"(?<![A-Za-z0-9_]" + sought + rb")(?![A-Za-z0-9_])")


def mentions(data: bytes, name: str) -> bool:
    """Whether this identifier is in these bytes as a whole word."""
    return name.encode() in data and word(name).search(data) is not None


def words(data: bytes) -> frozenset[bytes]:
    """All whole words in these bytes: what `mentions` finds, and nothing else."""
    return frozenset(data.translate(_ONLY_WORDS).split())
