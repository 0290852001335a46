"""What the facts of a Proxmox host share: JSON of `pvesh`, configuration lines, and errors of its tools."""

import json
import re
from collections.abc import Mapping
from typing import Any

from fleetops.facts.output import lines, require_ok
from fleetops.model.command import Outcome
from fleetops.model.fact import Absent, Unparsable

_NO_GUEST = re.compile(r"Configuration file '[^']*' does not exist")
_RAW = re.compile(r"(lxc\.[\w.-]+)(?::|\s*=)\s*(.*)", re.DOTALL)
_SETTING = re.compile(r"([A-Za-z][\w-]*): ?(.*)", re.DOTALL)


def rows(outcome: Outcome, tool: str = "pvesh") -> list[Mapping[str, Any]]:
    """The JSON array of objects that pvesh printed. Raises Absent without pvesh, Unparsable for another answer."""
    require_ok(outcome, tool)
    lines(outcome)
    try:
        found = json.loads(outcome.stdout)
    except ValueError as error:
        raise Unparsable(f"{tool} answered no JSON: {outcome.said}") from error
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise Unparsable(f"{tool} answered no list of objects")
    return found


def require_guest(outcome: Outcome) -> None:
    """Raises Absent where Proxmox says that the guest has no configuration on this host."""
    missing = _NO_GUEST.search(f"{outcome.stdout}\n{outcome.stderr}")
    if missing:
        raise Absent(missing[0])


def settings(found: list[str]) -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
    """`key: value` lines as a mapping, and the raw `lxc.*` lines, whose keys repeat, in their order."""
    config: dict[str, str] = {}
    raw: list[tuple[str, str]] = []
    for line in found:
        if match := _RAW.fullmatch(line):
            raw.append((match[1], match[2].strip()))
        elif match := _SETTING.fullmatch(line):
            config[match[1]] = match[2]
    return config, tuple(raw)
