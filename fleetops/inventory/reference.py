"""The tables of docs/inventory.md, made from the definitions: `python -m fleetops.inventory.reference docs/inventory.md`.

Without an argument they are printed; with a page, the part between its two marks is replaced.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fleetops.inventory import definitions as keys
from fleetops.inventory.flags import FLAG
from fleetops.inventory.record import Field, Record

BEGIN = "<!-- keys: written by `python -m fleetops.inventory.reference docs/inventory.md` -->"
END = "<!-- end of keys -->"

_SECTIONS = (
    ("fleet.yaml", keys.FLEET_FILE),
    ("A node", keys.NODE),
    ("guest", keys.GUEST),
    ("A hypervisor", keys.HYPERVISOR),
    ("A profile", keys.PROFILE),
    ("A flag", FLAG),
    ("host-memory", keys.HOST_MEMORY),
    ("settings", keys.SETTINGS),
)


def reference() -> str:
    """All tables, as Markdown."""
    return "\n".join(_section(title, record) for title, record in _SECTIONS)


def _section(title: str, record: Record) -> str:
    rows = "\n".join(_rows(record))
    intro = f"{record.help[0].upper()}{record.help[1:].rstrip('.')}."
    return (
        f"### {title}\n\n{intro}\n\n| key | is | left out | what for |\n| --- | --- | --- | --- |\n{rows}\n"
    )


def _rows(record: Record) -> Iterator[str]:
    for item in record.fields:
        cells = (f"`{item.key}`", item.kind.expected, _left_out(item), item.help)
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _left_out(item: Field[Any]) -> str:
    if item.required:
        return "**must be there**"
    if item.default is None:
        return item.otherwise
    written = item.kind.written(item.default)
    words = f"[{', '.join(written)}]" if isinstance(written, tuple) else str(written)
    return f"`{words.lower() if isinstance(written, bool) else words}`"


def with_reference(page: str) -> str:
    """The page with the part between its marks made anew. Raises ValueError where it has no marks."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError("the page has no marks for the generated part")
    return f"{head}{BEGIN}\n\n{reference()}\n{END}{tail}"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        target = Path(sys.argv[1])
        target.write_text(with_reference(target.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(reference())
