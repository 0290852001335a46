"""Commands that the program gives to be typed: they name the inventory that the user's own command named."""

import re
import shlex
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

_IN_JSON = {"hint", "next"}
# Writes an inventory or prints what needs none.
_NEEDS_NONE = r"(?!\s+(?:example|schema)\b)"
_named: ContextVar[tuple[str, tuple[str, ...]]] = ContextVar("named", default=("", ()))


def name_inventory(option: Iterable[str], commands: Iterable[str]) -> None:
    """From here on, in this context, `fleetops COMMAND` of these commands is told with this option."""
    _named.set((shlex.join(option), tuple(sorted(commands, key=len, reverse=True))))


def typed(text: str) -> str:
    """A hint or next command as it is to be typed here; the option stands where it is one in any command."""
    option, commands = _named.get()
    if not option:
        return text
    names = "|".join(map(re.escape, commands))
    pattern = rf"(?<![\w/.-])fleetops (?:{names})(?![\w-]){_NEEDS_NONE}(?! --(?:lab|inventory)\b)"
    return re.sub(pattern, lambda found: f"{found[0]} {option}", text)


def typed_json(body: Any) -> Any:
    """The same in what a program reads: the values of `hint` and `next`, however deep."""
    if isinstance(body, dict):
        return {
            key: typed(value) if key in _IN_JSON and isinstance(value, str) else typed_json(value)
            for key, value in body.items()
        }
    if isinstance(body, (list, tuple)):
        return [typed_json(each) for each in body]
    return body
