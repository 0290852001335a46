"""Quantities as people write them: sizes with their unit (`40 GB`, `16GiB`), durations (`30s`, `1h30m`)."""

import re
from decimal import Decimal

from fleetops.model import units

_SIZE_UNITS = {
    "B": 1,
    "KB": units.KB,
    "MB": units.MB,
    "GB": units.GB,
    "TB": units.TB,
    "KiB": units.KIB,
    "MiB": units.MIB,
    "GiB": units.GIB,
    "TiB": units.TIB,
}
_UNITS = "|".join(_SIZE_UNITS)

SIZE_PATTERN = rf"([0-9]+(?:\.[0-9]+)?) ?({_UNITS})"
DURATION_PATTERN = r"(?=[0-9])(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+(?:\.[0-9]+)?)s)?"

_SIZE = re.compile(SIZE_PATTERN)
_DURATION = re.compile(DURATION_PATTERN)
_SECONDS = (86_400, 3_600, 60, 1)
_MOST_BYTES = 10**18
_MOST_S = 100 * 366 * 86_400


def parse_size(text: str) -> int:
    """`40 GB` -> bytes; GB is 10^9, GiB is 2^30. Raises ValueError in words for anything without an exact unit."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError("not a size like `40 GB` or `16GiB` (GB is 10^9 bytes, GiB is 2^30)")
    size_bytes = Decimal(match[1]) * _SIZE_UNITS[match[2]]
    if size_bytes > _MOST_BYTES:
        raise ValueError("more bytes than any machine has")
    if size_bytes != int(size_bytes):
        raise ValueError("not a whole number of bytes")
    return int(size_bytes)


def parse_duration(text: str) -> float:
    """`1h30m` -> seconds. Raises ValueError in words where a unit is missing or out of order."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError("not a duration like `30s`, `15m` or `1h30m` (d, h, m, s, in this order)")
    seconds = sum(Decimal(n) * unit for n, unit in zip(match.groups(), _SECONDS, strict=True) if n)
    if seconds > _MOST_S:
        raise ValueError("longer than a century")
    return float(seconds)


def show_size(size_bytes: int) -> str:
    """Bytes as the shortest text that `parse_size` reads back exactly: `40 GB`, `16 GiB`, `1.5 GB`."""
    for unit in ("TB", "GB", "MB", "KB"):
        binary = f"{unit[0]}iB"
        for name in (unit, binary):
            if size_bytes and size_bytes % _SIZE_UNITS[name] == 0:
                return f"{size_bytes // _SIZE_UNITS[name]} {name}"
    return f"{size_bytes} B"


def show_duration(seconds: float) -> str:
    """Seconds as `parse_duration` reads them: `15m`, `1h30m`, `0.5s`."""
    if seconds != int(seconds):
        return f"{seconds}s"
    left, parts = int(seconds), []
    for name, unit in zip("dhms", _SECONDS, strict=True):
        count, left = divmod(left, unit)
        parts += [f"{count}{name}"] if count else []
    return "".join(parts) or "0s"
