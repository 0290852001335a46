"""Host names as sets: `node-[171-174,181]` and back. The language is ClusterShell's, in the part that fleets use."""

import re
from collections.abc import Iterable, Iterator
from itertools import product

LIMIT = 65_536
"""How many names one pattern may stand for; more is taken for a slip of the keyboard."""

_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_SPAN = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_DIGITS = re.compile(r"([0-9]+)")

NameKey = tuple[tuple[int, int, str], ...]


def natural_key(name: str) -> NameKey:
    """Sorts `node-9` before `node-10`: runs of digits count as numbers."""
    parts = enumerate(_DIGITS.split(name))
    return tuple((1, int(part), part) if place % 2 else (0, 0, part) for place, part in parts if part)


def split_list(text: str) -> list[str]:
    """The parts of a comma list; commas within brackets belong to a range. Empty parts are kept for the caller."""
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += {"[": 1, "]": -1}.get(character, 0)
        if character == "," and depth <= 0:
            parts.append(text[start:position])
            start = position + 1
    return [part.strip() for part in (*parts, text[start:])]


def expand(pattern: str) -> tuple[str, ...]:
    """The names that a pattern's bracketed ranges stand for, in their order; a pattern without brackets is its own.

    `[08-11]` keeps its leading zeros. Raises ValueError, in words, for a range that makes no sense.
    """
    pieces = _BRACKETS.split(pattern)
    if any("[" in piece or "]" in piece for piece in pieces):
        raise ValueError(f"unbalanced brackets in {pattern!r}")
    choices: list[list[str]] = []
    size = 1
    for position, piece in enumerate(pieces):
        choices.append(_numbers(piece, pattern) if position % 2 else [piece])
        size *= len(choices[-1])
        if size > LIMIT:
            raise ValueError(f"{pattern!r} stands for more than {LIMIT:,} names")
    return tuple("".join(combination) for combination in product(*choices))


def _numbers(ranges: str, pattern: str) -> list[str]:
    numbers: list[str] = []
    for part in ranges.split(","):
        span = _SPAN.fullmatch(part.strip())
        if span is None:
            raise ValueError(f"[{ranges}] in {pattern!r} is not a range like [170-179,181]")
        first, last = span[1], span[2] or span[1]
        if int(last) < int(first):
            raise ValueError(f"the range {part.strip()} in {pattern!r} runs backwards")
        if int(last) - int(first) >= LIMIT:
            raise ValueError(f"{pattern!r} stands for more than {LIMIT:,} names")
        width = len(first) if first.startswith("0") else 0
        numbers += [str(number).zfill(width) for number in range(int(first), int(last) + 1)]
    return numbers


def fold_names(names: Iterable[str]) -> str:
    """Names as one short list: `node-[171-174],pve-01`. What `expand` makes of its parts are the same names."""
    left = sorted(set(names), key=natural_key)
    folded: list[tuple[NameKey, str]] = []
    deepest = max((len(_DIGITS.findall(name)) for name in left), default=0)
    for place in range(1, deepest + 1):
        groups = _by_template(left, place)
        for (head, tail), numbers in groups.items():
            if len(numbers) > 1:
                merged = {f"{head}{number}{tail}" for number in numbers}
                left = [name for name in left if name not in merged]
                first = min(merged, key=natural_key)
                folded.append((natural_key(first), f"{head}[{','.join(_spans(numbers))}]{tail}"))
    folded += [(natural_key(name), name) for name in left]
    return ",".join(text for _, text in sorted(folded))


def _by_template(names: Iterable[str], place: int) -> dict[tuple[str, str], list[str]]:
    """Names grouped by what stays when their number at `place` (1 is the last one) is taken out."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name in names:
        parts = _DIGITS.split(name)
        index = len(parts) - 2 * place
        if index > 0:
            key = "".join(parts[:index]), "".join(parts[index + 1 :])
            groups.setdefault(key, []).append(parts[index])
    return groups


def _spans(numbers: list[str]) -> Iterator[str]:
    """Numbers as `171-174`, `181`, each number written as it was."""
    run: list[str] = []
    for number in sorted(numbers, key=lambda digits: (len(digits), digits)):
        if run and not _follows(run, number):
            yield _span(run)
            run = []
        run.append(number)
    if run:
        yield _span(run)


def _follows(run: list[str], number: str) -> bool:
    width = len(run[0]) if run[0].startswith("0") else 0
    return number == str(int(run[-1]) + 1).zfill(width)


def _span(run: list[str]) -> str:
    return run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}"
