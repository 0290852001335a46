"""`fleetops explain`: what a launch flag means, proven from the engine's own source."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fleetops.cli._source import add_source_options, open_source
from fleetops.cli.world import World
from fleetops.model.errors import UsageError
from fleetops.model.exit import Exit

if TYPE_CHECKING:
    from rich.text import Text

    from fleetops.fleet.local_tree import LocalTree
    from fleetops.model.fleet import Inventory
    from fleetops.render.output import Output
    from fleetops.store.proofs import Proofs

NAME = "explain"
SUMMARY = "show what a launch flag means: unit, scope and the proof, file:line by file:line"

_OPTIONS = ("--help", "--inventory", "--lab", "--json", "--source", "--release", "--engine", "--no-cache")
_WITH_VALUE = ("--inventory", "--source", "--release", "--engine")


def configure(parser: argparse.ArgumentParser) -> None:
    """The flag, and whose source is read."""
    parser.add_argument("flag", metavar="FLAG", help="the engine's flag: --hicache-size, or hicache_size")
    parser.add_argument(
        "nodes",
        nargs="*",
        metavar="NODES",
        default=[],
        help="nodes: node-174, node-[170-179], @group; all when left out",
    )
    add_source_options(parser)
    parser.add_argument("--no-cache", action="store_true", help="prove it anew, and do not keep the proof")


def reword(words: Sequence[str]) -> list[str]:
    """The words with FLAG as argparse takes it: the engine's `--hicache-size` would pass for an option of this command."""
    for place, word in enumerate(words):
        name = word.partition("=")[0]
        before = words[place - 1] if place else ""
        if word == "--" or (not word.startswith("-") and not _stands_for(before, _WITH_VALUE)):
            break
        if word.startswith("--") and not _stands_for(name, _OPTIONS):
            return [*words[:place], word.lstrip("-"), *words[place + 1 :]]
    return list(words)


def _stands_for(word: str, options: Sequence[str]) -> bool:
    """Whether argparse would take this word for one of these options, written out or not."""
    return len(word) > 2 and any(option.startswith(word) for option in options)


def execute(args: argparse.Namespace, world: World) -> Exit:
    """Read, prove, show."""
    from fleetops.fleet.explain import flag_name
    from fleetops.source.packages import package
    from fleetops.store.cache import cache_folder
    from fleetops.store.proofs import Proofs

    args.flag = flag_name(args.flag)
    if args.engine:
        package(args.engine)
    proofs = Proofs(None if args.no_cache else cache_folder(world.environ))
    named = next((one for one in ("source", "release") if getattr(args, one) is not None), None)
    if named and args.nodes:
        raise UsageError(
            f"--{named} goes without nodes, and {' '.join(args.nodes)} was named as well",
            hint=f"leave out one of them: --{named} reads on this machine",
        )
    output = world.output(args)
    tree = open_source(args, world, output)
    return _on_nodes(args, world, proofs) if tree is None else _on_this_machine(args, tree, output, proofs)


def _on_this_machine(args: argparse.Namespace, tree: "LocalTree", output: "Output", proofs: "Proofs") -> Exit:
    from fleetops.fleet.explain import EXIT_CODES, explain_tree
    from fleetops.render.explain import Where, explain_screen, explanation_json
    from fleetops.source.packages import package

    with output.err.status(f"following {args.flag} through {tree.folder}"):
        explained = explain_tree(tree, args.flag, proofs)
    if output.wants_json:
        output.json(explanation_json(explained))
    else:
        place = "as released" if args.source is None else f"in {args.source}"
        where = Where(title=package(tree.package).title, place=place, folder=str(tree.folder))
        _show(output, explain_screen(explained, where, output.width if output.is_terminal else None))
    return EXIT_CODES[explained.verdict]


def _on_nodes(args: argparse.Namespace, world: World, proofs: "Proofs") -> Exit:
    from fleetops.fleet.explain_nodes import exit_code, explain_nodes
    from fleetops.inventory import select_hosts
    from fleetops.model.fleet import Node
    from fleetops.render.explain import nodes_json, nodes_screen
    from fleetops.render.waiting import waiting
    from fleetops.source.packages import packages

    inventory = _inventory(args, world)
    nodes = [host for host in select_hosts(inventory, args.nodes, of="nodes") if isinstance(host, Node)]
    if not args.nodes and not args.engine:
        known = {one.name for one in packages()}
        nodes = [node for node in nodes if node.engine in known] or nodes
    output = world.output(args)
    with world.connections(inventory) as connections, waiting(output) as on_answer:
        report = explain_nodes(
            connections, inventory, nodes, args.flag, proofs, engine=args.engine, on_answer=on_answer
        )
    if output.wants_json:
        output.json(nodes_json(report))
    else:
        titles = {one.name: one.title for one in packages()}
        _show(output, nodes_screen(report, titles, output.width if output.is_terminal else None))
    return exit_code(report)


def _inventory(args: argparse.Namespace, world: World) -> "Inventory":
    """As everywhere; whoever has none may have a copy of the engine."""
    try:
        return world.inventory(args)
    except UsageError as error:
        if args.inventory or args.lab:
            raise
        raise UsageError(error.message, hint=f"{error.hint}; or read a folder: --source DIR") from error


def _show(output: "Output", screen: "Text") -> None:
    """Line by line, none of them wrapped: what is wider than the terminal is there to be copied in one piece."""
    for line in screen.split("\n", allow_blank=True):
        line.rstrip()
        if output.is_terminal:
            output.out.print(line, soft_wrap=True)
        else:
            output.show(line.plain)
