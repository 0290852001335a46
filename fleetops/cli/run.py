"""`fleetops run`: any command on any hosts, equal outputs folded."""

import argparse
import math
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fleetops.cli._options import duration
from fleetops.cli.world import World
from fleetops.model.errors import UsageError
from fleetops.model.exit import Exit
from fleetops.model.nodeset import fold_names

if TYPE_CHECKING:
    from rich.status import Status

    from fleetops.model.command import Command, Outcome
    from fleetops.model.errors import FleetopsError
    from fleetops.model.fleet import Host
    from fleetops.model.run import RunReport
    from fleetops.render.output import Output
    from fleetops.ssh.fanout import Result

NAME = "run"
SUMMARY = "run a command on many hosts, equal outputs folded"
_MOST = 10_000


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
        "--fanout",
        type=_count,
        default=32,
        metavar="N",
        help="how many hosts at a time (default %(default)s)",
    )
    parser.add_argument(
        "--deadline",
        type=duration,
        metavar="DURATION",
        help="give up what has not ended so long after the start of all: 30s, 5m",
    )
    parser.add_argument("--pick", type=_count, metavar="N", help="only N of the hosts, whichever")
    parser.add_argument(
        "--batch", type=_count, metavar="N", help="N hosts, then the next N once all of those have ended"
    )
    parser.add_argument("--pause", type=duration, metavar="DURATION", help="between two batches: 30s, 5m")
    parser.add_argument(
        "--max-failures",
        type=_failures,
        metavar="N",
        help="begin no further batch once more than N hosts have failed (default 0)",
    )
    parser.add_argument(
        "--json-lines", action="store_true", help="print a JSON object for each host, as soon as it has ended"
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


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= _MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of hosts between 1 and {_MOST}")
    return int(text)


def _failures(text: str) -> int:
    if text != "0" and (not text.isascii() or not text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of hosts")
    return int(text)


def execute(args: argparse.Namespace, world: World) -> Exit:
    """Run on all at once or batch by batch, fold, show."""
    argv = _argv(args)
    from fleetops.fleet.batches import Batches, run_in_batches
    from fleetops.fleet.run import exit_code, run_on_hosts
    from fleetops.inventory import select_hosts
    from fleetops.model.command import Command
    from fleetops.render.run import run_json, run_screen

    command = Command(argv=argv, deadline_s=args.timeout, changes=True, root=args.sudo)
    inventory = world.inventory(args)
    hosts = _picked(select_hosts(inventory, args.hosts, of="all"), args.pick)
    output = world.output(args)
    with world.connections(inventory) as connections, _following(output, hosts, args, command) as follow:
        ends_at = time.monotonic() + args.deadline if args.deadline else math.inf
        batches = Batches(
            size=args.batch or 0,
            pause_s=args.pause or 0.0,
            max_failures=args.max_failures or 0,
            ends_at=ends_at,
            on_pause=follow.pause,
        )

        def run_on(part: "Sequence[Host]") -> "RunReport":
            left_s = max(ends_at - time.monotonic(), 0.0) if args.deadline else None
            return run_on_hosts(
                connections, part, command, width=args.fanout, deadline_s=left_s, on_result=follow.result
            )

        report = run_in_batches(hosts, batches, run_on)
    if args.json_lines:
        for host, error in report.failures:
            if host not in follow.told:
                follow.tell_failure(host, error)
    elif output.wants_json:
        output.json(run_json(report, command))
    else:
        for piece in run_screen(report, command):
            output.show(piece if output.is_terminal or isinstance(piece, str) else piece.plain)
    return exit_code(report)


def _picked(hosts: "Sequence[Host]", number: int | None) -> "Sequence[Host]":
    """That many of them at random, in the inventory's order."""
    if number is None or number >= len(hosts):
        return hosts
    chosen = set(random.sample(range(len(hosts)), number))
    return [host for place, host in enumerate(hosts) if place in chosen]


class _Following:
    """What is shown while it runs: who has still to answer on a terminal, and each answer as a line for a program."""

    def __init__(self, output: "Output", hosts: "Sequence[Host]", command: "Command", *, lines: bool) -> None:
        self._output = output
        self._command = command
        self._lines = lines
        self._left = {host.name for host in hosts}
        self._all = len(hosts)
        self._began = time.monotonic()
        self.status: Status | None = None
        self.told: set[str] = set()

    def result(self, result: "Result[Host, Outcome]") -> None:
        """One host has ended."""
        name = result.item.name
        self._left.discard(name)
        if self.status is not None:
            done = self._all - len(self._left)
            rate = done / max(time.monotonic() - self._began, 0.1)
            rest = f"waiting for {fold_names(self._left)}" if self._left else "done"
            self.status.update(f"{done} of {self._all}, {rate:.0f} a second; {rest}")
        if self._lines and result.error is not None:
            self.tell_failure(name, result.error)
        elif self._lines and result.value is not None:
            from fleetops.render.run import outcome_line

            self._tell(name, outcome_line(name, result.value, self._command, result.duration_s))

    def tell_failure(self, host: str, error: "FleetopsError") -> None:
        """A host that gave no outcome, or was not begun."""
        from fleetops.render.run import failure_line

        self._tell(host, failure_line(host, error))

    def pause(self, number: int, left_s: float) -> None:
        """Between two batches."""
        if self.status is not None:
            self.status.update(f"batch {number} in {left_s:.0f} s; {len(self._left)} hosts left")

    def _tell(self, host: str, line: "dict[str, Any]") -> None:
        self.told.add(host)
        self._output.json(line)
        self._output.flush()


@contextmanager
def _following(
    output: "Output", hosts: "Sequence[Host]", args: argparse.Namespace, command: "Command"
) -> Iterator[_Following]:
    """A sudo password is asked for undisturbed."""
    follow = _Following(output, hosts, command, lines=args.json_lines)
    if not output.err.is_terminal or args.sudo:
        yield follow
        return
    with output.err.status(fold_names([host.name for host in hosts])) as follow.status:
        yield follow


def _argv(args: argparse.Namespace) -> tuple[str, ...]:
    """The command's argv. Raises UsageError where there is none, or it is not clear which."""
    words: list[str] = args.words
    if args.json_lines and args.json:
        raise UsageError("either --json or --json-lines, not both")
    if args.batch is None and (args.pause is not None or args.max_failures is not None):
        raise UsageError(
            "--pause and --max-failures are about batches", hint="say how large one is: --batch N"
        )
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
