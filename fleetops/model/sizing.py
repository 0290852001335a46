"""Host memory of a launch: what it asks, what there is, and the arithmetic between them."""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from fleetops.model.fleet import AUTO, Flag, FlagScope, FlagUnit, FlagValue
from fleetops.model.kv import Beside
from fleetops.model.units import GB, GIB, MB, MIB, show_gb

STATED = "as the profile states, not proven from source"
_COUNTED = {"ratio": "x the device pool", "fraction": "of the whole"}
UNIT_BYTES: dict[str, int] = {"GB": GB, "GiB": GIB, "MB": MB, "MiB": MIB, "bytes": 1}


@dataclass(frozen=True, kw_only=True)
class Seen:
    """More was taken than the source shows: `times` what was asked, as `source` tells."""

    times: Fraction
    source: str


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """What a flag's number means.

    Attributes:
        unit, scope: None where nothing says.
        pools: how many pools take the value, each in full.
        proven: shown from the engine's source, not merely stated.
        why: where it comes from, for a person.
        unit_bytes: bytes that one unit takes, where the unit alone does not tell (a ratio of a known pool).
        beside: pools of each rank that come on top, as shares of one pool.
        seen: how many times the number has been seen to be taken in the field, and where that was told.
    """

    unit: FlagUnit | None
    scope: FlagScope | None
    pools: int = 1
    proven: bool = False
    why: str = ""
    unit_bytes: int | None = None
    beside: tuple[Beside, ...] = ()
    seen: Seen | None = None

    @property
    def bytes_per_unit(self) -> int | None:
        """None where a unit has no size of its own."""
        return self.unit_bytes if self.unit_bytes is not None else UNIT_BYTES.get(self.unit or "")

    def copies(self, ranks: int) -> int:
        """How many times the value is taken on a node of so many ranks."""
        return self.pools * (ranks if self.scope == "per-rank" else 1)


def stated(flag: Flag) -> Meaning:
    """What the profile itself says of this flag."""
    return Meaning(unit=flag.unit, scope=flag.scope, why=STATED)


@dataclass(frozen=True, kw_only=True)
class Room:
    """One bound on what may be taken, and whose it is."""

    label: str
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of the arithmetic that is no flag: a pool on top, the reserve, the floor."""

    label: str
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class FlagSize:
    """One flag's part.

    Attributes:
        asked: as the profile has it; `auto` where fleetops shall size it.
        value: what would be launched with; None where that is not known.
        copies: how many times the value is taken on the node.
        total_bytes: all of it on the node; None where that cannot be computed.
        fits: the largest whole number that fits beside everything else; None where that cannot be computed.
    """

    name: str
    asked: FlagValue
    value: int | float | None
    meaning: Meaning
    copies: int
    total_bytes: int | None
    fits: int | None

    @property
    def beside(self) -> tuple[Line, ...]:
        """The pools on top, as far as their sizes are known."""
        if self.total_bytes is None:
            return ()
        each = Fraction(self.total_bytes, self.meaning.pools)
        return tuple(
            Line(label=pool.label, size_bytes=int(each * pool.share))
            for pool in self.meaning.beside
            if pool.share is not None
        )

    @property
    def arithmetic(self) -> str:
        """`8 x 300 GB`, with the pools where there are several."""
        value = "?" if self.value is None else f"{self.value:g}"
        number = (
            f"{value} {_COUNTED.get(self.meaning.unit, self.meaning.unit)}" if self.meaning.unit else value
        )
        if self.meaning.pools > 1:
            number = f"{self.meaning.pools} pools x {number}"
        per_rank = self.meaning.scope == "per-rank"
        return f"{self.copies // self.meaning.pools} x {number}" if per_rank else number


class Verdict(Enum):
    """Whether it fits. What cannot be computed is not known to fit."""

    FITS = "fits"
    TOO_MUCH = "does not fit"
    UNKNOWN = "cannot be computed"


@dataclass(frozen=True, kw_only=True)
class Budget:
    """A launch's host memory against what the node has.

    Attributes:
        rooms: every bound that was read; the least one counts.
        unknown: what keeps the verdict from being one.
    """

    ranks: int
    sizes: tuple[FlagSize, ...]
    lines: tuple[Line, ...]
    rooms: tuple[Room, ...]
    unknown: tuple[str, ...] = ()

    @property
    def room(self) -> Room | None:
        """The bound that counts."""
        return min(self.rooms, key=lambda room: room.size_bytes, default=None)

    @property
    def asked_bytes(self) -> int:
        """What the flags take on the whole node."""
        return sum(size.total_bytes or 0 for size in self.sizes)

    @property
    def beside(self) -> tuple[Line, ...]:
        """The pools that come on top of the flags."""
        return tuple(line for size in self.sizes for line in size.beside)

    @property
    def needed_bytes(self) -> int:
        """What must be there: the flags, the pools on top, the reserve for loading and the floor."""
        return self.asked_bytes + sum(line.size_bytes for line in (*self.beside, *self.lines))

    @property
    def left_bytes(self) -> int | None:
        """What would be free beyond the floor and the reserve; negative where it is too much."""
        return None if self.room is None else self.room.size_bytes - self.needed_bytes

    @property
    def verdict(self) -> Verdict:
        """Too much stays too much, whatever else is unknown: more unknowns only take more."""
        if self.left_bytes is not None and (self.left_bytes < 0 or self._cannot_be_sized):
            return Verdict.TOO_MUCH
        if self.unknown or self.room is None:
            return Verdict.UNKNOWN
        return Verdict.FITS

    @property
    def _cannot_be_sized(self) -> bool:
        return any(size.asked == AUTO and size.fits is not None and size.fits < 1 for size in self.sizes)

    @property
    def cautions(self) -> tuple[str, ...]:
        """What the arithmetic does not show: flags that were seen to take more, and whether that would fit as well."""
        return tuple(text for size in self.sizes if (text := self._caution(size)))

    def _caution(self, size: FlagSize) -> str:
        seen = size.meaning.seen
        if seen is None or not size.total_bytes:
            return ""
        more = int(size.total_bytes * (seen.times - 1))
        told = (
            f"{size.name} has been seen to take {float(seen.times):g} times as much ({seen.source}): "
            f"{show_gb(size.total_bytes + more)}"
        )
        if self.left_bytes is None or self.left_bytes < 0:
            return told
        short = more - self.left_bytes
        return f"{told}, " + (f"{show_gb(short)} more than there is" if short > 0 else "which fits as well")

    @property
    def values(self) -> dict[str, FlagValue]:
        """Flag name -> the value to launch with, for every size that is known."""
        return {size.name: size.value for size in self.sizes if size.value is not None}

    @property
    def summary(self) -> str:
        """One line: what is asked, what there is, what fits."""
        asked = " + ".join(size.arithmetic for size in self.sizes) or "nothing"
        there = (
            f"{show_gb(self.room.size_bytes)} available" if self.room else "what is available is not known"
        )
        parts = [
            f"{asked} = {show_gb(self.asked_bytes)} asked, {there}"
            if self.sizes
            else f"no flag takes host memory, {there}"
        ]
        parts += self.cautions
        if self.verdict is not Verdict.FITS:
            parts += [_what_fits(size) for size in self.sizes if size.fits is not None]
            parts += self.unknown
        return "; ".join(parts)

    def explain(self) -> tuple[str, ...]:
        """The arithmetic line by line, aligned, ending in the verdict."""
        rows = [
            (size.name, size.arithmetic, _amount(size.total_bytes), _meaning(size)) for size in self.sizes
        ]
        rows += [(line.label, "", show_gb(line.size_bytes), "") for line in (*self.beside, *self.lines)]
        rows.append(("needed", "", show_gb(self.needed_bytes), ""))
        rows += [
            ("available", "", show_gb(room.size_bytes), room.label + (" (the least counts)" if spare else ""))
            for room, spare in ((one, one is self.room and len(self.rooms) > 1) for one in self.rooms)
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        table = [
            f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}".rstrip()
            for row in rows
        ]
        return (*table, *self.cautions, self._conclusion())

    def _conclusion(self) -> str:
        if self.verdict is Verdict.UNKNOWN:
            return f"whether it fits cannot be said: {'; '.join(self.unknown) or 'the room is not known'}"
        left = self.left_bytes or 0
        fits = "; ".join(_what_fits(size) for size in self.sizes if size.fits is not None)
        if self.verdict is Verdict.FITS:
            return f"it fits, {show_gb(left)} to spare"
        too_much = f"{show_gb(-left)} too much" if left < 0 else "nothing is left to give it"
        return f"it does not fit: {too_much}" + (f"; {fits}" if fits else "")


def _what_fits(size: FlagSize) -> str:
    if not size.fits or size.fits < 1:
        return f"no value of {size.name} fits"
    return f"{size.fits} fits"


def _amount(total_bytes: int | None) -> str:
    return "unknown" if total_bytes is None else show_gb(total_bytes)


def _meaning(size: FlagSize) -> str:
    unit = size.meaning.unit or "unit not stated"
    scope = (size.meaning.scope or "scope not stated").replace("-", " ")
    return f"{unit} {scope}" + (f", {size.meaning.why}" if size.meaning.why else "")
