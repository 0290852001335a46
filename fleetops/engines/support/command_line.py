"""Command lines of Python servers: which program an argv really runs, and the flags it was given."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from fleetops.model.fleet import FlagValue

_PYTHON = re.compile(r"python[\d.]*")
_NUMBER = re.compile(r"-\d+(\.\d*)?")
# CPython's options that take a value: in the same word (-Xdev) or in the next.
_TAKES_VALUE = "WX"


@dataclass(frozen=True)
class Program:
    """What a command line runs: `kind` is `module`, `script` or `code` for Python, `binary` for all else."""

    kind: str
    name: str
    arguments: tuple[str, ...]


def program(argv: Sequence[str]) -> Program | None:
    """The program behind an argv; only what really runs counts, not what its arguments mention."""
    if not argv:
        return None
    if not _PYTHON.fullmatch(file_name(argv[0])):
        return Program("binary", argv[0], tuple(argv[1:]))
    return _python_program(tuple(argv[1:]))


def _python_program(words: tuple[str, ...]) -> Program | None:
    while words:
        word, words = words[0], words[1:]
        if word.startswith("--"):
            words = words[1:] if word == "--check-hash-based-pycs" else words
        elif not word.startswith("-") or word == "-":
            return Program("script", word, words)
        else:
            found, words = _short_options(word[1:], words)
            if found:
                return found
    return None


def _short_options(letters: str, words: tuple[str, ...]) -> tuple[Program | None, tuple[str, ...]]:
    """One word of bundled short options (`-um`): the program it names, if any, and the words after it."""
    for place, letter in enumerate(letters):
        if letter not in "mc" and letter not in _TAKES_VALUE:
            continue
        value = letters[place + 1 :]
        if not value:
            value, words = (words[0] if words else ""), words[1:]
        if letter in _TAKES_VALUE:
            return None, words
        return Program("module" if letter == "m" else "code", value, words), words
    return None, words


def file_name(path: str) -> str:
    """The last part of a path."""
    return PurePosixPath(path).name


def read_flags(arguments: Sequence[str]) -> dict[str, str]:
    """`--some-flag value`, `--some-flag=value` and bare `--some-flag` (then `true`), by name with underscores.

    Several values after one flag are joined by spaces; a flag given twice counts as its last, as argparse has it.
    """
    flags: dict[str, list[str]] = {}
    current: list[str] | None = None
    for word in arguments:
        if word.startswith("--") and len(word) > 2:
            name, equals, value = word[2:].partition("=")
            current = [value] if equals else []
            flags[name.replace("-", "_")] = current
        elif current is not None and (not word.startswith("-") or _NUMBER.fullmatch(word)):
            current.append(word)
        else:
            current = None
    return {name: " ".join(values) if values else "true" for name, values in flags.items()}


def write_flags(values: Mapping[str, FlagValue]) -> tuple[str, ...]:
    """Flags as words: True is a bare flag, False is left out, a whole float is written without its `.0`."""
    words: list[str] = []
    for name, value in values.items():
        if value is False:
            continue
        words.append(f"--{name.replace('_', '-')}")
        if value is not True:
            words.append(_written(value))
    return tuple(words)


def _written(value: FlagValue) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
