"""`fleetops grep-source`: the engine's own source on every node, equal answers said once."""

import argparse

from fleetops.cli.world import World
from fleetops.model.exit import Exit

NAME = "grep-source"
SUMMARY = "search the engine's own source on the nodes, equal answers folded"


def configure(parser: argparse.ArgumentParser) -> None:
    """The pattern, the nodes, and grep's own options by their own names."""
    parser.add_argument("pattern", metavar="PATTERN", help="what grep takes: a basic regular expression")
    parser.add_argument(
        "hosts",
        nargs="*",
        metavar="HOSTS",
        help="nodes: node-174, node-[170-179], @group; all when left out",
    )
    syntax = parser.add_mutually_exclusive_group()
    for short, name, words in (
        ("-E", "extended", "extended regular expression"),
        ("-F", "fixed", "plain text"),
    ):
        syntax.add_argument(
            short, dest="syntax", action="store_const", const=name, help=f"the pattern is {words}"
        )
    parser.set_defaults(syntax="basic")
    parser.add_argument("-i", "--ignore-case", action="store_true", help="upper and lower case are the same")
    parser.add_argument(
        "-C", "--context", type=_count, default=0, metavar="N", help="show N lines around each match"
    )
    for name, words in (
        ("--include", "search only files of such names"),
        ("--exclude", "leave out files of such names"),
        ("--exclude-dir", "leave out folders of such names"),
    ):
        parser.add_argument(name, action="append", default=[], metavar="GLOB", help=f"{words}; repeatable")
    parser.add_argument(
        "--path",
        type=_whole_path,
        metavar="PATH",
        help="search this folder or file (its whole path) instead of the engine's source",
    )
    parser.add_argument(
        "--limit",
        type=_count,
        default=20,
        metavar="N",
        help="show N lines of each node, count the rest (default %(default)s)",
    )


def _whole_path(text: str) -> str:
    if not text.startswith("/"):
        raise argparse.ArgumentTypeError(
            f"{text!r} is relative, and hosts have no current folder: give the whole path, or narrow with --include"
        )
    return text


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of lines")
    return int(text)


def execute(args: argparse.Namespace, world: World) -> Exit:
    """Ask all at once, fold, show."""
    from fleetops.fleet.grep import exit_code, grep_hosts
    from fleetops.inventory import select_hosts
    from fleetops.render.grep import grep_json, grep_screen
    from fleetops.render.waiting import waiting
    from fleetops.source.search import Search

    search = Search(
        pattern=args.pattern,
        syntax=args.syntax,
        ignore_case=args.ignore_case,
        context=args.context,
        include=tuple(args.include),
        exclude=tuple(args.exclude),
        exclude_dir=tuple(args.exclude_dir),
        limit=args.limit,
    )
    inventory = world.inventory(args)
    # Any folder can be searched on any host that is named; the engine's source is on nodes.
    hosts = select_hosts(inventory, args.hosts, of="all" if args.path and args.hosts else "nodes")
    output = world.output(args)
    with world.connections(inventory) as connections, waiting(output) as on_answer:
        report = grep_hosts(connections, hosts, search, path=args.path, on_answer=on_answer)
    if output.wants_json:
        output.json(grep_json(report))
    else:
        for line in grep_screen(report, output.width if output.is_terminal else None):
            output.show(line if output.is_terminal else line.plain)
        for words in report.warnings:
            output.note(f"warning: grep says of the pattern: {words}")
    return exit_code(report)
