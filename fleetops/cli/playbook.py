"""`fleetops playbook`: which playbooks there are, whether they hold, and one of them run on a node."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleetops.cli._operate import add_change_options, operate, profile_named, the_node
from fleetops.cli._options import add_shared_options
from fleetops.cli.world import World
from fleetops.model.errors import UsageError
from fleetops.model.exit import Exit

if TYPE_CHECKING:
    from fleetops.playbook.book import Playbook

NAME = "playbook"
SUMMARY = "list, check and run playbooks: the shipped ones and those beside the inventory"

_LIST = "list the shipped playbooks and those in playbooks/ beside the inventory; contacts no host"
_CHECK = "say everything that is wrong in playbooks, with file, line and column; contacts no host"
_RUN = "run a playbook on a node: plan, confirm, act, verify, journaled"


def configure(parser: argparse.ArgumentParser) -> None:
    """Its own subcommands."""
    commands = parser.add_subparsers(dest="playbook_command", metavar="COMMAND", required=True)
    for name, summary in (("list", _LIST), ("check", _CHECK), ("run", _RUN)):
        command = commands.add_parser(name, help=summary, description=summary)
        add_shared_options(command)
        if name == "check":
            command.add_argument(
                "playbook",
                metavar="NAME|FILE",
                nargs="?",
                help="all of them when left out; a file ends in .yaml",
            )
        if name == "run":
            _configure_run(command)


def _configure_run(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "playbook", metavar="NAME", help="the playbook, as `fleetops playbook list` shows it"
    )
    command.add_argument("node", metavar="NODE", help="the node, by its inventory name")
    command.add_argument("--profile", metavar="P", help="launch this profile instead of the node's own")
    part = command.add_mutually_exclusive_group()
    part.add_argument("--from", metavar="STEP", help="begin with this step; its guards hold all the same")
    part.add_argument("--only", metavar="STEP", help="only this step; its guards hold all the same")
    add_change_options(command)


def execute(args: argparse.Namespace, world: World) -> Exit:
    """Run one of them."""
    return {"list": _list, "check": _check, "run": _run}[args.playbook_command](args, world)


def _list(args: argparse.Namespace, world: World) -> Exit:
    from fleetops.playbook.find import found_playbooks, listed, package_steps
    from fleetops.render.playbook import list_json, show_list

    output = world.output(args)
    entries, steps = listed(found_playbooks(_place(args, world))), package_steps()
    if output.wants_json:
        output.json(list_json(entries, steps))
    else:
        show_list(output, entries, steps)
    return Exit.FINE


def _check(args: argparse.Namespace, world: World) -> Exit:
    """Problems take the road of errors. A package's step that is refused is a finding: no file of the operator's is wrong."""
    from fleetops.playbook.find import find_playbook, found_playbooks, package_steps, read_all
    from fleetops.render.playbook import check_json, show_check

    place = _place(args, world)
    found = [find_playbook(args.playbook, place, world.cwd)] if args.playbook else found_playbooks(place)
    read_all(found)
    refused = [] if args.playbook else [one for one in package_steps() if one.refused]
    output, files = world.output(args), [str(one.path) for one in found]
    if output.wants_json:
        output.json(check_json(files, refused))
    else:
        show_check(output, files, refused)
    return Exit.FINDINGS if refused else Exit.FINE


def _place(args: argparse.Namespace, world: World) -> Path | None:
    """Where the inventory lies, be it whole or not. None, which is said, where none was named and none is there."""
    from fleetops.inventory.find import VARIABLE

    try:
        return world.inventory_path(args)
    except UsageError as error:
        if args.lab or args.inventory or world.environ.get(VARIABLE):
            raise
        world.output(args).note(f"only shipped playbooks: {error.message}")
        return None


def _run(args: argparse.Namespace, world: World) -> Exit:
    """One playbook on one node, as `recover` runs its own."""
    from fleetops.playbook.find import find_playbook, read_found

    inventory = world.inventory(args)
    found = find_playbook(args.playbook, world.inventory_path(args), world.cwd)
    book = read_found(found)
    node = the_node(inventory, args.node)
    profile = profile_named(inventory, args.profile or node.profile) if args.profile or node.profile else None
    output = world.output(args)
    if found.shadows:
        output.note(f"{found.path} is run in place of the shipped playbook {book.name}")
    args.words = ("run", args.playbook)
    return operate(
        args,
        world,
        inventory,
        node=node,
        book=_part_of(args, book, has_profile=profile is not None),
        profile=profile,
        emit=lambda body: output.json(_named(body, book)),
    )


def _part_of(args: argparse.Namespace, book: "Playbook", *, has_profile: bool) -> "Playbook":
    """What the operator wants of it. Raises UsageError."""
    from fleetops.playbook.load import without_relaunch
    from fleetops.playbook.parts import from_step, only_step

    step = vars(args)["from"]
    if step:
        book = from_step(book, step)
    elif args.only:
        book = only_step(book, args.only)
    if book.relaunch == "if-asked" and not args.profile:
        return without_relaunch(book, "--profile P asks for a relaunch")
    if book.relaunch == "with-profile" and not has_profile:
        return without_relaunch(book, "the node has no profile to launch")
    return book


def _named(body: dict[str, Any], book: "Playbook") -> dict[str, Any]:
    return {**body, "schema": "fleetops.playbook-run/1", "playbook": book.name, "file": book.file}
