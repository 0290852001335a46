"""What `size` says: what the number means, the arithmetic line by line, the verdict, and what to type next."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from fleetops.model.jsonable import jsonable
from fleetops.model.size import DOES_NOT_FIT, FITS, UNPROVEN, EngineWindow, Sizing
from fleetops.model.sizing import Budget, FlagSize
from fleetops.model.units import GB, show_gb
from fleetops.render.arithmetic import arithmetic, lines_json
from fleetops.render.explain_rows import PROSE_WIDTH, prose, row
from fleetops.render.plain import safe
from fleetops.render.rows import opposite
from fleetops.render.typed import typed

SCHEMA, SEVERAL_SCHEMA = "fleetops.size/1", "fleetops.sizes/1"
_WORDS = {
    FITS: ("fits", "bold green"),
    DOES_NOT_FIT: ("does not fit", "bold red"),
    UNPROVEN: ("unproven", "bold magenta"),
}
_GAP = 3


def size_json(sizing: Sizing) -> dict[str, Any]:
    """One answer as `fleetops.size/1`."""
    size, found, kv, pool = sizing.size, sizing.budget, sizing.kv, sizing.pool
    asked_bytes = size.total_bytes if size and sizing.asked is not None else None
    reserve, floor = (found.lines[0].size_bytes, found.lines[1].size_bytes) if found else (None, None)
    return {
        "schema": SCHEMA,
        "ranks": found.ranks if found else None,
        "flag": sizing.flag,
        "unit": (size.meaning.unit if size else None) or "unknown",
        "scope": (size.meaning.scope if size else None) or "unknown",
        "pools": size.meaning.pools if size else None,
        "available_bytes": found.room.size_bytes if found and found.room else None,
        "reserve_bytes": reserve,
        "floor_bytes": floor,
        "fits": size.fits if size else None,
        "asked": sizing.asked,
        "asked_total_bytes": asked_bytes,
        "verdict": sizing.verdict,
        "bytes_per_token": kv.bytes_per_token if kv else None,
        "host_tokens": pool.tokens if pool else None,
        "host_bytes": pool.size_bytes if pool else None,
        "exact": sizing.is_exact,
        "lines": lines_json(found) if found else [],
        "host": sizing.host or None,
        "profile": sizing.profile or None,
        "engine": sizing.engine,
        "version": sizing.version,
        "proof": size.meaning.why if size else None,
        "check": jsonable(sizing.window),
        "inexact_because": list(kv.inexact) if kv else [],
        "notes": list(sizing.notes),
        "unproven_because": list(sizing.reasons),
        "next": sizing.next,
        "error": sizing.error or None,
        "hint": sizing.hint or None,
    }


def sizes_json(sizings: Sequence[Sizing]) -> dict[str, Any]:
    """One answer as itself, several as `fleetops.sizes/1`."""
    if len(sizings) == 1:
        return size_json(sizings[0])
    return {"schema": SEVERAL_SCHEMA, "sizes": [size_json(sizing) for sizing in sizings]}


def sizes_screen(sizings: Sequence[Sizing], width: int | None) -> Text:
    """A block for each node. `width` None: piped."""
    return Text("\n\n").join(Text("\n").join(_block(sizing, width)) for sizing in sizings)


def _block(sizing: Sizing, width: int | None) -> Iterator[Text]:
    if sizing.budget is None:
        yield (
            Text(sizing.host, style="bold")
            .append("   not asked", style="not bold magenta")
            .append(f"   {safe(sizing.error)}", style="not bold")
        )
        if sizing.hint:
            yield Text(f"  {safe(typed(sizing.hint))}", style="dim")
        return
    yield _headline(sizing, width)
    for block in (list(_told(sizing, width)), list(_table(sizing.budget)), list(_conclusion(sizing, width))):
        if block:
            yield Text()
            yield from block


def _headline(sizing: Sizing, width: int | None) -> Text:
    words, style = _WORDS[sizing.verdict]
    line = Text().append(sizing.flag or "host memory", style="bold")
    if meaning := _meaning(sizing.size):
        line.append(f"    {meaning}")
    line.append("    ").append(words, style=style)
    place = f"on {sizing.host}" if sizing.host else "offline"
    whose = " ".join(part for part in (sizing.title or sizing.engine, sizing.version, place) if part)
    return opposite(
        line, f"{whose}, profile {sizing.profile}" if sizing.profile else whose, width or PROSE_WIDTH
    )


def _meaning(size: FlagSize | None) -> str:
    """`GB per rank`, `GiB in total`; "" where nothing says."""
    if size is None or size.meaning.unit is None or size.meaning.scope is None:
        return ""
    scope = "in total" if size.meaning.scope == "total" else size.meaning.scope.replace("-", " ")
    return f"{size.meaning.unit} {scope}"


def _told(sizing: Sizing, width: int | None) -> Iterator[Text]:
    """What the number means, what a token takes, what the engine's own check will say."""
    size = sizing.size
    if size:
        yield from row("proven" if size.meaning.proven else "not proven", _pools(sizing, size), width)
    if sizing.kv:
        words = f"{sizing.kv.bytes_per_token:,} bytes a token: {sizing.kv.detail}"
        yield from row("KV cache", words, width)
    if sizing.pool:
        yield from row("host pool", _tokens(sizing), width)
    for number, why in enumerate(sizing.kv.inexact if sizing.kv else ()):
        yield from row("" if number else "not exact", why, width, label_style="yellow")
    if sizing.window and not _says_nothing(sizing.window, sizing):
        yield from _check(sizing.window, sizing, width)
    for number, note in enumerate(sizing.notes):
        yield from row("" if number else "note", note, width)


def _pools(sizing: Sizing, size: FlagSize) -> str:
    ranks = sizing.budget.ranks if sizing.budget else 0
    where = size.meaning.why.removeprefix("proven: ")
    if not size.meaning.proven:
        counted = f"counted {where}" if _meaning(size) else "neither source nor profile says what it counts"
        return f"{counted}; {ranks} ranks on this node"
    pools = (
        "one pool takes it"
        if size.meaning.pools == 1
        else f"{size.meaning.pools} pools take it, each in full"
    )
    each = f"on each of {ranks} ranks" if size.meaning.scope == "per-rank" else f"over all of {ranks} ranks"
    return f"{where}; {pools} {each}"


def _tokens(sizing: Sizing) -> str:
    """Tokens and bytes of one rank, at what is asked and at what fits."""
    size, pool, other = sizing.size, sizing.pool, sizing.fitting
    if size is None or pool is None:
        return ""
    value = size.value if size.value is not None else size.fits
    told = f"{pool.tokens:,} tokens a rank at {value:g}, {show_gb(pool.size_bytes)}"
    return f"{told}; {other.tokens:,} at {size.fits}" if other else told


def _says_nothing(window: EngineWindow, sizing: Sizing) -> bool:
    """Of 0, of no size at all, or where no size can pass: what the check would say helps nobody."""
    nothing = sizing.asked is None and sizing.size is not None and sizing.size.fits == 0
    return sizing.asked == 0 or window.up_to == 0 or nothing


def _check(window: EngineWindow, sizing: Sizing, width: int | None) -> Iterator[Text]:
    """What the check says to the value, what it compares, and all that it would let pass."""
    value = sizing.asked if sizing.asked is not None else (sizing.size.fits if sizing.size else None)
    passes = None if value is None else window.lets_pass(value)
    said = "" if passes is None else f"{'lets' if passes else 'refuses'} {value:g}{' pass' if passes else ''}"
    if passes and sizing.verdict == DOES_NOT_FIT:
        said += ", which the node cannot hold"
    words = ": ".join(part for part in (said, window.why) if part) or "is made"
    yield from row("its check", f"{words} ({window.place})", width)
    if bounds := _bounds(window, _meaning(sizing.size)):
        yield from row("", bounds, width)
    if window.missing:
        yield from row(
            "", f"a size that is too small fails, too; how small needs the {window.missing}", width
        )


def _bounds(window: EngineWindow, unit: str) -> str:
    above = "" if window.above is None else f"more than {window.above:,.1f}"
    up_to = "" if window.up_to is None else f"up to {window.up_to:,.1f}"
    both = " and ".join(part for part in (above, up_to) if part)
    return f"on this node it lets {both} {unit} pass" if both else ""


def _table(found: Budget) -> Iterator[Text]:
    """Numbers in one column, their unit once above it."""
    lines = list(arithmetic(found))
    shown = _in_gb([line.size_bytes for line in lines])
    labels = max(cell_len(line.label) for line in lines)
    hows = max(cell_len(line.how) for line in lines)
    numbers = max(map(len, (*shown, "GB")))
    at = 2 + labels + (_GAP + hows if hows else 0) + _GAP
    yield Text(" " * at).append("GB".rjust(numbers), style="dim")
    for line, number in zip(lines, shown, strict=True):
        middle = " " * _GAP + line.how.ljust(hows) if hows else ""
        text = Text(f"  {safe(line.label).ljust(labels)}{middle}{' ' * _GAP}{number.rjust(numbers)}")
        if line.note:
            text.append(" " * _GAP + line.note, style="dim")
        if line.label == "needed":
            text.stylize("bold")
        yield text


def _in_gb(sizes: Sequence[int | None]) -> list[str]:
    """All with one decimal where one of them needs it."""
    known = [size / GB for size in sizes if size is not None]
    places = 1 if any(abs(number) < 1000 and round(number, 1) != round(number) for number in known) else 0
    return ["?" if size is None else f"{size / GB:,.{places}f}" for size in sizes]


def _conclusion(sizing: Sizing, width: int | None) -> Iterator[Text]:
    _, style = _WORDS[sizing.verdict]
    yield from prose(_verdict(sizing), 2, width, style=style)
    if sizing.next:
        yield Text(f"  {safe(typed(sizing.next))}")


def _verdict(sizing: Sizing) -> str:
    """One sentence: what is asked, what there is, what fits."""
    found, size = sizing.budget, sizing.size
    if found is None:
        return ""
    if sizing.verdict == UNPROVEN:
        return f"whether it fits is not proven: {'; '.join(sizing.reasons)}"
    there, left = show_gb(found.room.size_bytes) if found.room else "?", found.left_bytes or 0
    if size is None:
        spare = f"{show_gb(left)} to spare" if left >= 0 else f"{show_gb(-left)} too little"
        return f"no flag takes host memory; {there} available, {spare}"
    asks = f"{size.arithmetic} = {show_gb(size.total_bytes or 0)}"
    each = " per rank" if size.meaning.scope == "per-rank" else ""
    if sizing.verdict == FITS:
        begin = (
            f"{sizing.asked:g}{each} asks {asks}"
            if sizing.asked is not None
            else f"{size.fits}{each} fits: {asks}"
        )
        return f"{begin} of {there} available; {'it fits, ' if sizing.asked is not None else ''}{show_gb(left)} to spare"
    fits = f"{size.fits} fits" if size.fits else "nothing fits"
    if sizing.asked is None:
        taken = show_gb(found.needed_bytes - (size.total_bytes or 0))
        return f"{there} available; {fits}: {taken} are needed before {size.name} takes anything"
    return f"{sizing.asked:g}{each} asks {asks}; {there} available, {show_gb(-left)} too much; {fits}"
