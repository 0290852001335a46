"""`fleetops lab`: a small simulated fleet on this machine, to learn on and to test against."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fleetops.cli.world import World
from fleetops.model.errors import UsageError
from fleetops.model.exit import Exit

if TYPE_CHECKING:
    from fleetops.lab.breakages import Breakage
    from fleetops.render.output import Output

NAME = "lab"
SUMMARY = "a simulated fleet on this machine: bring it up, look at it, break a node, take it down"


def configure(parser: argparse.ArgumentParser) -> None:
    """What to do, and for `break` to which node."""
    parser.add_argument("action", choices=("up", "down", "status", "break"), help="what to do with the lab")
    parser.add_argument("node", nargs="?", metavar="NODE", help="break: the node")
    parser.add_argument("kind", nargs="?", metavar="KIND", help="break: how; --list tells the kinds")
    parser.add_argument(
        "--list", action="store_true", help="break: list the kinds of breakage; with one, explain it"
    )


def execute(args: argparse.Namespace, world: World) -> Exit:
    """Do it. The lab's folder is $FLEETOPS_LAB, or one of the caller's own in the temporary folder."""
    from fleetops.lab.paths import lab_folder

    if args.action != "break" and (args.node or args.list):
        raise UsageError(f"`lab {args.action}` takes no arguments", hint="fleetops lab up|down|status")
    folder = lab_folder(world.environ)
    output = world.output(args)
    if args.action == "up":
        _up(folder, output)
    elif args.action == "down":
        _down(folder, output)
    elif args.action == "status":
        _status(folder, output)
    elif args.list:
        _kinds(args.node or "", output)
    else:
        _break(folder, args, output)
    return Exit.FINE


def _up(folder: Path, output: "Output") -> None:
    from fleetops.lab import api

    lab = api.up(folder)
    if output.wants_json:
        output.json({"schema": "fleetops.lab/1", "folder": str(folder), "inventory": str(lab.inventory)})
        return
    output.note(f"{len(lab.ports)} hosts are up in {folder}; add --lab to any command, or:")
    output.show(f"export FLEETOPS_INVENTORY={lab.inventory}")
    if remark := api.remark(folder):
        output.note(remark)


def _down(folder: Path, output: "Output") -> None:
    from fleetops.lab import api

    was_there = api.down(folder)
    if output.wants_json:
        output.json({"schema": "fleetops.lab/1", "folder": str(folder), "removed": was_there})
    else:
        output.note("the lab is gone" if was_there else "there is no lab")


def _status(folder: Path, output: "Output") -> None:
    from fleetops.lab import api
    from fleetops.model.jsonable import jsonable
    from fleetops.render.table import columns

    hosts = api.status(folder)
    if output.wants_json:
        output.json({"schema": "fleetops.lab/1", "folder": str(folder), "hosts": jsonable(hosts)})
        return
    rows = [("host", "kind", "port", "state", "engine", "broken")]
    rows += [
        (each.name, each.kind, str(each.port), "up" if each.running else "down", each.engine, each.broken)
        for each in hosts
    ]
    output.show(columns(rows, right=(2,)))


def _kinds(kind: str, output: "Output") -> None:
    """Every kind of breakage in a line, or one of them at length."""
    from fleetops.lab.breakages import all_breakages, breakage
    from fleetops.render.table import columns, folded

    found = (breakage(kind),) if kind else all_breakages()
    if output.wants_json:
        output.json({"schema": "fleetops.lab/1", "breakages": [_told(each) for each in found]})
    elif kind:
        output.show(f"{kind} ({', '.join(found[0].platforms)}): {found[0].summary}\n")
        output.show(f"{_paragraph(found[0].explanation)}\n")
    else:
        rows = [("breakage", "can happen to", "what it is")]
        rows += [(each.name, " ".join(each.platforms), each.summary) for each in found]
        # On a terminal what is long goes on in its own column; piped, a line each.
        output.show(folded(rows) if output.is_terminal else columns(rows))
        output.note("fleetops lab break --list KIND tells more; fleetops lab break NODE KIND does it")


def _told(one: "Breakage") -> dict[str, object]:
    told = {"kind": one.name, "summary": one.summary, "explanation": one.explanation}
    return {**told, "platforms": list(one.platforms)}


def _paragraph(text: str) -> str:
    import textwrap

    return textwrap.fill(text, 100)


def _break(folder: Path, args: argparse.Namespace, output: "Output") -> None:
    from fleetops.lab import api
    from fleetops.lab.breakages import breakage

    if not (args.node and args.kind):
        raise UsageError("`lab break` takes a node and a kind", hint="fleetops lab break --list")
    api.break_node(folder, args.node, args.kind)
    if output.wants_json:
        output.json({"schema": "fleetops.lab/1", "node": args.node, "broken": args.kind})
    else:
        output.note(f"{args.node} is broken: {args.kind}\n{_paragraph(breakage(args.kind).explanation)}")
