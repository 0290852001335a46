"""`fleetops run`: any command on any hosts, equal outputs folded."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fleetops.cli.world import World
from fleetops.model.errors import UsageError
from fleetops.model.exit import Exit
from fleetops.model.nodeset import fold_names

if TYPE_CHECKING:
    from fleetops.model.command import Outcome
    from fleetops.model.fleet import Host
    from fleetops.render.output import Output
    from fleetops.ssh.fanout import Result

NAME = "run"
SUMMARY = "run a command on many hosts, equal outputs folded"


def configure(parser: argparse.ArgumentParser) -> None:
    """Hosts, `--`, and the command's own words, which argparse never sees."""
    parser.usage = f"{parser.prog} [options] HOSTS [HOSTS ...] (-- COMMAND [ARGUMENT ...] | --shell LINE)"
    parser.add_argument(
        "hosts", nargs="*", metavar="HOSTS", help="nodes and hypervisors: node-[170-179], @group"
    )
    parser.add_argument("--shell", metavar="LINE", help="a line for sh on each host, in place of -- COMMAND")
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=30.0,
        metavar="SECONDS",
        help="end the command on a host after this long (default %(default)g)",
    )
    parser.add_argument(
        "--width", type=_width, default=32, metavar="N", help="how many hosts at a time (default %(default)s)"
    )
    parser.add_argument("--sudo", action="store_true", help="run it as root where the login is another user")
    _split_at_dashes(parser)


def _split_at_dashes(parser: argparse.ArgumentParser) -> None:
    """Give the parser what stands before `--` only: argparse drops the dashes, and with them where the command starts."""
    parse = parser.parse_known_args

    def parse_before_dashes(
        args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        words = list(args or ())
        at = words.index("--") if "--" in words else len(words)
        parsed, unknown = parse(words[:at], namespace)
        parsed.words = words[at + 1 :]
        return parsed, unknown

    parser.parse_known_args = parse_before_dashes  # type: ignore[method-assign, assignment]


def _seconds(text: str) -> float:
    try:
        seconds = float(text.removesuffix("s"))
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 7 * 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds between 0.1 and a week")
    return seconds


def _width(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of hosts between 1 and 1024")
    return int(text)


def execute(args: argparse.Namespace, world: World) -> Exit:
    """Run on all at once, fold, show."""
    argv = _argv(args)
    from fleetops.fleet.run import exit_code, run_on_hosts
    from fleetops.inventory import select_hosts
    from fleetops.model.command import Command
    from fleetops.render.run import run_json, run_screen

    command = Command(argv=argv, deadline_s=args.timeout, changes=True, root=args.sudo)
    inventory = world.inventory(args)
    hosts = select_hosts(inventory, args.hosts, of="all")
    output = world.output(args)
    with world.connections(inventory) as connections, _waiting(output, hosts, args) as on_result:
        report = run_on_hosts(connections, hosts, command, width=args.width, on_result=on_result)
    if output.wants_json:
        output.json(run_json(report, command))
    else:
        for piece in run_screen(report, command):
            output.show(piece if output.is_terminal or isinstance(piece, str) else piece.plain)
    return exit_code(report)


@contextmanager
def _waiting(
    output: "Output", hosts: "Sequence[Host]", args: argparse.Namespace
) -> Iterator["Callable[[Result[Host, Outcome]], None] | None"]:
    """On a terminal, who has still to answer; a sudo password is asked for undisturbed."""
    if not output.err.is_terminal or args.sudo:
        yield None
        return
    left = {host.name for host in hosts}
    with output.err.status(fold_names(left)) as status:

        def answered(result: "Result[Host, Outcome]") -> None:
            left.discard(result.item.name)
            rest = f"waiting for {fold_names(left)}" if left else "done"
            status.update(f"{len(hosts) - len(left)} of {len(hosts)}; {rest}")

        yield answered


def _argv(args: argparse.Namespace) -> tuple[str, ...]:
    """The command's argv. Raises UsageError where there is none, or it is not clear which."""
    words: list[str] = args.words
    if not args.hosts:
        raise UsageError("run needs the hosts to run on", hint="fleetops run 'node-*' -- uptime")
    if args.shell is not None:
        if words:
            raise UsageError("either --shell LINE or -- COMMAND, not both")
        return ("sh", "-c", args.shell)
    if not words:
        raise UsageError("there is no command", hint="fleetops run HOSTS -- COMMAND, or --shell 'LINE'")
    if len(words) == 1 and len(words[0].split()) > 1:
        raise UsageError(
            f"{words[0]!r} is one word, and no program's name",
            hint="give the words one by one, or a line for the shell with --shell",
        )
    return tuple(words)
