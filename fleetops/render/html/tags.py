"""HTML from Python: what is not markup already is escaped, so that no word of a host can become any."""

import html
import json
from collections.abc import Iterable
from typing import Any

from fleetops.render.plain import safe

_VOID = {"meta", "use", "path"}
"""Written without an end tag; within SVG closed in themselves."""


class Markup(str):
    """HTML that is finished."""

    __slots__ = ()


def tag(name: str, /, *inside: str, **attributes: str | bool | None) -> Markup:
    """One element. `class_` is the attribute `class`, `aria_label` is `aria-label`; None and False leave one out."""
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{given}>" if name == "meta" else f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{joined(inside)}</{name}>")


def joined(parts: Iterable[str]) -> Markup:
    """Parts one after the other, those that are plain text escaped."""
    return Markup("".join(map(escaped, parts)))


def escaped(text: str) -> str:
    """For between tags and for attributes; control characters and overrides of direction are spelled out."""
    return text if isinstance(text, Markup) else html.escape(safe(text))


def data_block(name: str, body: Any) -> Markup:
    """JSON that the page's script reads by that id. No `<` of it can end the block."""
    text = json.dumps(body, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return Markup(f'<script type="application/json" id="{escaped(name)}">{text}</script>')


def _attribute(key: str, value: str | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escaped(value)}"'
