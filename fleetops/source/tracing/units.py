"""From what was done to the value to the unit that it counts in."""

import re
from fractions import Fraction

from fleetops.model.proof import Unit
from fleetops.source.tracing.amounts import Amount, Symbol
from fleetops.source.tracing.arithmetic import say_factor

_FACTORS: dict[Fraction, Unit] = {
    Fraction(10**9): "GB",
    Fraction(2**30): "GiB",
    Fraction(10**6): "MB",
    Fraction(2**20): "MiB",
}
_PAGES = re.compile(r"page|block_size|chunk|align", re.IGNORECASE)
# So many of something over the bytes that so many take: bytes for each.
_COUNTS = re.compile(r"(^|[._])(num|n|total)_\w*(blocks|pages|tokens|slots|chunks)$")
_BLOCKS = re.compile(r"block", re.IGNORECASE)
_BYTES = re.compile(r"bytes|uint8|mmap|bytearray|ftruncate|nbytes", re.IGNORECASE)


def unit_of(amount: Amount, allocation: str) -> tuple[Unit, str]:
    """The unit, and why there is none. `allocation`: the text of what allocates (or bounds) it."""
    if amount.site and amount.site.multiplies and not amount.site.moved:
        return ("fraction" if amount.is_of_memory else "ratio"), ""
    if amount.moved:
        return "unknown", f"{amount.moved[0]} changes it before it is converted"
    factor = amount.coefficient
    bytes_below = [one for one in amount.over if one.counts_bytes and not _PAGES.search(one.text)]
    bytes_below += [one for one in amount.over if one.counts_bytes and one not in bytes_below]
    strange = [one for one in amount.over if not one.counts_bytes and not _PAGES.search(one.text)]
    times = [one for one in amount.times if not _PAGES.search(one.text)]
    if amount.complement or (factor == 1 and not bytes_below and any(one.of_memory for one in amount.times)):
        return "fraction", ""
    of_tensors = all(one.counts_bytes and one.memory is False for one in times)
    if factor == 1 and times and (of_tensors or not bytes_below):
        return _ratio_to(times)
    if strange:
        return "unknown", f"it is divided by {strange[0].text}, which is not shown to count bytes"
    if times and not (bytes_below and all(_COUNTS.search(one.text) for one in times)):
        return "unknown", f"it is multiplied by {times[0].text}"
    if factor in _FACTORS:
        if amount.over and not bytes_below:
            return (
                "unknown",
                f"x {say_factor(factor)} is divided by {amount.over[0].text}, which is not shown to count bytes",
            )
        return _FACTORS[factor], ""
    if factor != 1:
        return "unknown", f"x {say_factor(factor)} is no unit"
    if bytes_below:
        return "bytes", ""
    if _BLOCKS.search(allocation) or _BLOCKS.search(amount.site.text if amount.site else ""):
        return "blocks", ""
    if _BYTES.search(allocation):
        return "bytes", ""
    return "tokens", ""


def _ratio_to(times: list[Symbol]) -> tuple[Unit, str]:
    """Of what is no machine's memory: so many times as much. Bytes of which nothing tells whose they are may be either."""
    vague = [one for one in times if one.counts_bytes and one.memory is None]
    if vague:
        return (
            "unknown",
            f"it is multiplied by {vague[0].text}, and nothing shows of what these are the bytes",
        )
    return "ratio", ""
