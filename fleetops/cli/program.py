"""The program: finds the subcommands in this folder, runs one, turns its errors into words and an exit code.

Start-up stays close to bare Python's: nothing here, and nothing at the top of a subcommand's file, imports
fabric, paramiko, rich or yaml.
"""

import argparse
import errno
import importlib
import json
import os
import signal
import sys
from collections.abc import Sequence
from contextvars import copy_context
from functools import cache
from pathlib import Path
from typing import NoReturn, Protocol, cast

from fleetops import __version__, cli
from fleetops.cli.world import World
from fleetops.model.errors import FleetopsError, UsageError
from fleetops.model.exit import Exit, worst

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EIO)
_LONGEST_HINT = 100
_NOT_COMMANDS = {"main", "program", "world"}


class Subcommand(Protocol):
    """What a file of this folder defines."""

    NAME: str
    SUMMARY: str

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the subcommand's own arguments."""

    def execute(self, args: argparse.Namespace, world: World) -> Exit:
        """Run it."""


@cache
def subcommands() -> tuple[Subcommand, ...]:
    """All subcommands, by name."""
    # Not pkgutil, which loads `inspect`: a start would pay for that a fifth of what it may take.
    files = (file for folder in cli.__path__ for file in Path(folder).glob("[!_]*.py"))
    names = {file.stem for file in files} - _NOT_COMMANDS
    modules = [cast("Subcommand", importlib.import_module(f"fleetops.cli.{name}")) for name in names]
    return tuple(sorted(modules, key=lambda module: module.NAME))


class _Parser(argparse.ArgumentParser):
    """argparse whose errors take the program's own road (one form, JSON when asked for)."""

    _interleaving = False

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Options may also stand before, between and after hosts, where argparse alone would stop taking hosts."""
        if self._interleaving or self._subparsers is not None or "--" in (args or ()):
            return super().parse_known_args(args, namespace)
        self._interleaving = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._interleaving = False

    def error(self, message: str) -> NoReturn:
        usage = self.format_usage().strip().removeprefix("usage: ")
        is_short = "\n" not in usage and len(usage) <= _LONGEST_HINT
        raise UsageError(message, hint=usage if is_short else f"{self.prog} --help")


def build_parser(only: str | None = None) -> argparse.ArgumentParser:
    """The whole command line; with `only`, the arguments of that one subcommand and no more than the others' names."""
    parser = _Parser(
        prog="fleetops",
        description="Operate a fleet of GPU inference nodes over SSH: ask, prove, recover, launch.",
        epilog="`fleetops lab up` starts a simulated fleet to try everything on.",
    )
    parser.add_argument("--version", action="version", version=f"fleetops {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    shared = _shared_options()
    for module in subcommands():
        wanted = only in (None, module.NAME)
        sub = commands.add_parser(
            module.NAME,
            help=module.SUMMARY,
            description=module.SUMMARY,
            parents=[shared] if wanted else [],
            add_help=wanted,
        )
        if wanted:
            module.configure(sub)
            sub.set_defaults(execute=module.execute)
    return parser


def _shared_options() -> _Parser:
    shared = _Parser(add_help=False)
    where = shared.add_mutually_exclusive_group()
    where.add_argument("--inventory", metavar="PATH", help="the inventory: a folder, or a fleet.yaml")
    where.add_argument("--lab", action="store_true", help="use the embedded lab's inventory")
    shared.add_argument("--json", action="store_true", help="print one JSON object")
    return shared


def run(argv: Sequence[str], world: World) -> Exit:
    """Run one command line; never lets an exception through. What it names does not outlive it."""
    return copy_context().run(_run, argv, world)


def _run(argv: Sequence[str], world: World) -> Exit:
    # What follows `--` is a command for other hosts, whose options are its own.
    wants_json = "--json" in (argv[: argv.index("--")] if "--" in argv else argv)
    try:
        if not argv:
            world.stderr.write(build_parser(only="").format_help())
            return Exit.USAGE
        args = build_parser(only=argv[0]).parse_args(_reworded(argv))
        _name_inventory(args)
        return Exit(args.execute(args, world))
    except FleetopsError as error:
        _report(error, world, wants_json=wants_json)
        return error.exit_code
    except KeyboardInterrupt:
        _report(FleetopsError("interrupted"), world, wants_json=wants_json)
        return Exit.INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return Exit.FINE
    except SystemExit as request:
        return Exit(int(request.code or 0))
    except OSError as error:
        if error.errno not in _NO_ROOM:
            return _defective(error, world, wants_json=wants_json)
        _report(FleetopsError(f"cannot write: {error.strerror}"), world, wants_json=wants_json)
        return Exit.FAILED
    except Exception as error:  # noqa: BLE001 - the last wall: a traceback goes to a file, not to the user
        return _defective(error, world, wants_json=wants_json)


def _reworded(argv: Sequence[str]) -> list[str]:
    """The command line as argparse takes it, where a subcommand's own words could pass for its options."""
    command = next((one for one in subcommands() if argv[0] == one.NAME), None)
    reword = getattr(command, "reword", None)
    return [argv[0], *reword(argv[1:])] if reword else list(argv)


def _name_inventory(args: argparse.Namespace) -> None:
    """Whatever is told to be typed goes to the inventory that this command goes to."""
    option = ["--lab"] if args.lab else ["--inventory", args.inventory] if args.inventory else []
    if option:
        from fleetops.render.typed import name_inventory

        name_inventory(option, (one.NAME for one in subcommands() if one.NAME != "lab"))


def _defective(error: Exception, world: World, *, wants_json: bool) -> Exit:
    _report(_defect(error), world, wants_json=wants_json)
    return Exit.FAILED


def _report(error: FleetopsError, world: World, *, wants_json: bool) -> None:
    if wants_json:
        from fleetops.model.jsonable import jsonable
        from fleetops.render.typed import typed

        body = {
            "schema": "fleetops.error/1",
            "error": error.kind,
            "message": error.message,
            "hint": typed(error.hint),
        }
        extra = {
            "host": error.host,
            "guard": getattr(error, "guard", ""),
            "problems": jsonable(getattr(error, "problems", ())),
        }
        world.stderr.write(json.dumps(body | {key: value for key, value in extra.items() if value}) + "\n")
        return
    from fleetops.render.plain import error_lines

    world.stderr.write(
        error_lines(
            error.message, error.hint, colour=world.stderr.isatty() and "NO_COLOR" not in world.environ
        )
    )


def _defect(error: Exception) -> FleetopsError:
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile("w", prefix="fleetops-defect-", suffix=".txt", delete=False) as file:
        traceback.print_exception(error, file=file)
    return FleetopsError(
        f"a defect in fleetops itself: {type(error).__name__}: {error}",
        hint=f"please report it with {file.name}; look at the node with `fleetops probe` before going on",
    )


def _silence_stdout() -> None:
    """The reader went away (`| head`): not an error, and Python's exit must not print one."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def start() -> int:
    """Run the command line of this process: its exit code, all output written."""
    _end_as_interrupted(signal.SIGTERM, signal.SIGHUP)
    code = run(sys.argv[1:], World())
    try:
        if sys.stdout:
            sys.stdout.flush()
    except OSError as error:
        _silence_stdout()
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"error: cannot write the output: {error.strerror}\n")
            code = worst((code, Exit.FAILED))
    return int(code)


def _end_as_interrupted(*signals: signal.Signals) -> None:
    """A terminal that goes away, or a polite kill, ends a run like Ctrl-C: journal closed, locks given back."""

    def interrupt(number: int, frame: object) -> None:
        del number, frame
        raise KeyboardInterrupt

    for number in signals:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, interrupt)
