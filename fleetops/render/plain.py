"""Text for a terminal without Rich: errors and short notes, printed before anything heavy is imported."""

import re

from fleetops.render.typed import typed

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]+")
_PIECE = 1 << 16
"""How many characters are looked at in one go: of 8 MiB that are no text, each byte becomes an object of its own."""


def safe(text: str) -> str:
    """Text from a host with control characters, bidirectional overrides and undecodable bytes made visible.

    Newlines and tabs stay. What a host prints never reaches the operator's terminal raw.
    """
    pieces = (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))
    return "".join(_CONTROL.sub(_visible, piece) for piece in pieces)


def _visible(match: re.Match[str]) -> str:
    return "".join(map(_spelled, match.group()))


def _spelled(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def error_lines(message: str, hint: str, *, colour: bool) -> str:
    """An error and its hint, each on its own line, readable without colour."""
    red, dim, off = ("\x1b[1;31m", "\x1b[2m", "\x1b[0m") if colour else ("", "", "")
    lines = f"{red}error:{off} {safe(message)}\n"
    if hint:
        lines += f"{dim} hint:{off} {safe(typed(hint))}\n"
    return lines
