"""`fleetops playbook`: what there is to run, and what was found to be in order."""

import shlex
from collections.abc import Sequence
from typing import Any

from rich.text import Text

from fleetops.model.jsonable import jsonable
from fleetops.model.playbook import PackageStep, PlaybookEntry
from fleetops.render.output import Output
from fleetops.render.plain import safe
from fleetops.render.table import folded
from fleetops.render.typed import typed


def show_list(output: Output, entries: Sequence[PlaybookEntry], steps: Sequence[PackageStep]) -> None:
    """The playbooks, then what packages bring."""
    output.show(folded([(one.name, _whose(one), _about(one)) for one in entries]))
    if steps:
        output.show("")
        output.show(folded([(one.step or "?", one.package, _taken(one)) for one in steps]))
    output.show("")
    output.show(Text(f"  {safe(typed('fleetops playbook run NAME NODE --dry-run'))}", style="bold"))


def list_json(entries: Sequence[PlaybookEntry], steps: Sequence[PackageStep]) -> dict[str, Any]:
    """`fleetops.playbook-list/1`."""
    return {
        "schema": "fleetops.playbook-list/1",
        "playbooks": jsonable(tuple(entries)),
        "package_steps": jsonable(tuple(steps)),
    }


def show_check(output: Output, files: Sequence[str], refused: Sequence[PackageStep]) -> None:
    """What is in order, and which steps of packages are not taken."""
    for file in files:
        output.show(safe(f"{file}: no problem"))
    if refused:
        output.show("")
        output.show(folded([(one.step or "?", one.package, _taken(one)) for one in refused]))


def check_json(files: Sequence[str], refused: Sequence[PackageStep]) -> dict[str, Any]:
    """The same for a program; problems take the road of errors, on stderr."""
    return {
        "schema": "fleetops.playbook-check/1",
        "files": list(files),
        "problems": [],
        "refused_steps": jsonable(tuple(refused)),
    }


def _whose(one: PlaybookEntry) -> str:
    if not one.own:
        return "shipped"
    return "own, in place of the shipped one" if one.shadows else "own"


def _about(one: PlaybookEntry) -> str:
    if not one.problems:
        return one.summary
    many = "1 problem" if len(one.problems) == 1 else f"{len(one.problems)} problems"
    return f"{many}: {typed(shlex.join(['fleetops', 'playbook', 'check', one.name]))}"


def _taken(one: PackageStep) -> str:
    return f"refused: {one.refused}" if one.refused else "step of a package"
