"""`fleetops inventory`: check the inventory's files, list what patterns select, show where values come from."""

import argparse
from typing import TYPE_CHECKING

from fleetops.cli._options import add_shared_options
from fleetops.cli.world import World
from fleetops.model.exit import Exit

if TYPE_CHECKING:
    from fleetops.inventory.load import Loaded

NAME = "inventory"
SUMMARY = "start an inventory, check it, list its hosts, show where a value comes from; contacts no host"

_CHECK = "say everything that is wrong in the files, with file, line and column"
_LIST = "list the hosts that patterns select, as every command would take them"
_SHOW = "show hosts or profiles value by value, and where each value comes from"
_SCHEMA = "print the JSON Schema of a file, for editors"
_EXAMPLE = "write the commented example inventory into a folder, to make it yours; overwrites nothing"


def configure(parser: argparse.ArgumentParser) -> None:
    """The inventory's own subcommands."""
    commands = parser.add_subparsers(dest="inventory_command", metavar="COMMAND", required=True)
    for name, summary, hosts in (
        ("check", _CHECK, ""),
        ("list", _LIST, "node-174, node-[170-179], node-*, @group, !node-171; all when left out"),
        ("show", _SHOW, "host patterns, or names of profiles; everything when left out"),
        ("schema", _SCHEMA, ""),
        ("example", _EXAMPLE, ""),
    ):
        command = commands.add_parser(name, help=summary, description=summary)
        add_shared_options(command)
        if hosts:
            command.add_argument("hosts", nargs="*", metavar="HOSTS", help=hosts)
        if name == "example":
            command.add_argument(
                "folder", metavar="FOLDER", help="where to; it is made where it is not there"
            )
        if name == "schema":
            files = {"nargs": "?", "choices": ("fleet", "profiles"), "default": "fleet"}
            command.add_argument("file", **files, help="which file's: fleet (the default) or profiles")  # type: ignore[arg-type]


def execute(args: argparse.Namespace, world: World) -> Exit:
    """Run one of them."""
    commands = {"check": _check, "list": _list, "show": _show, "schema": _schema, "example": _example}
    commands[args.inventory_command](args, world)
    return Exit.FINE


def _loaded(args: argparse.Namespace, world: World) -> "Loaded":
    from fleetops.inventory.load import load_with_readings

    return load_with_readings(world.inventory(args).path)


def _check(args: argparse.Namespace, world: World) -> None:
    from fleetops.render.inventory import check_json, check_line

    loaded = _loaded(args, world)
    output, files = world.output(args), [str(file) for file in loaded.files]
    if output.wants_json:
        output.json(check_json(loaded.inventory, files))
    else:
        output.show(check_line(loaded.inventory, files))


def _list(args: argparse.Namespace, world: World) -> None:
    from fleetops.inventory import select_hosts
    from fleetops.render.inventory import list_json, list_screen

    inventory = world.inventory(args)
    hosts = select_hosts(inventory, args.hosts, of="all")
    output = world.output(args)
    if output.wants_json:
        output.json(list_json(inventory, hosts))
    else:
        output.show(list_screen(inventory, hosts, everything=not args.hosts, width=output.width))


def _show(args: argparse.Namespace, world: World) -> None:
    from fleetops.inventory.origin import describe
    from fleetops.render.inventory import show_json, show_screen

    described = describe(_loaded(args, world), args.hosts)
    output = world.output(args)
    if output.wants_json:
        output.json(show_json(described))
    else:
        output.show(show_screen(described))


def _schema(args: argparse.Namespace, world: World) -> None:
    """The schema is JSON with or without --json; laid out, since it becomes a file."""
    import json

    from fleetops.inventory.schema import json_schema

    world.stdout.write(json.dumps(json_schema(args.file), indent=2) + "\n")


def _example(args: argparse.Namespace, world: World) -> None:
    from fleetops.inventory.example import write_example
    from fleetops.render.inventory import example_json, example_words

    files = [str(file) for file in write_example(world.cwd / args.folder)]
    output = world.output(args)
    if output.wants_json:
        output.json(example_json(files))
    else:
        output.show(example_words(args.folder, files))
