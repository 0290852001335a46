"""`fleetops silence`: a finding is not reported for a while; it is judged, followed and kept all the same."""

import argparse

from fleetops.cli._findings import add_which, memory, must_exist, reason, who
from fleetops.cli._options import duration
from fleetops.cli.world import World
from fleetops.model.errors import UsageError
from fleetops.model.exit import Exit

NAME = "silence"
SUMMARY = "keep a finding out of the reports for a while, with a reason; without one, list what is silenced"


def configure(parser: argparse.ArgumentParser) -> None:
    """Which finding, how long, why."""
    add_which(parser, optional=True)
    parser.add_argument("--for", dest="seconds", type=duration, metavar="D", help="how long: 2h, 3d")
    parser.add_argument("--why", metavar="TEXT", help="what you know of it; kept with your name")
    parser.add_argument("--end", action="store_true", help="report it again from now on")


def execute(args: argparse.Namespace, world: World) -> Exit:
    """Write it down, or list; nothing is contacted."""
    inventory, output = world.inventory(args), world.output(args)
    if args.host is None:
        _must_be_alone(args)
        from fleetops.render.silences import silences_json, silences_screen

        found = memory(world, inventory).silences(world.clock())
        if output.wants_json:
            output.json(silences_json(found))
        else:
            output.lines(silences_screen(found, world.clock()))
        return Exit.FINE
    command = f"fleetops silence {args.host} {args.check or 'CHECK'} --for 2h"
    if args.check is None or not (args.end or args.seconds):
        raise UsageError("which check, and for how long?", hint=f'{command} --why "what you know"')
    why = "ended" if args.end else reason(args, command)
    must_exist(inventory, args.host, args.check)
    now, me = world.clock(), who()
    until = now if args.end else now + args.seconds
    memory(world, inventory).silence(args.host, args.check, until=until, at=now, who=me, why=why)
    if output.wants_json:
        body = {"host": args.host, "check": args.check, "until": until, "who": me, "why": why}
        output.json({"schema": "fleetops.silence/1", **body})
    else:
        from fleetops.render.silences import silenced_line

        output.show(silenced_line(args.host, args.check, until, now, why))
    return Exit.FINE


def _must_be_alone(args: argparse.Namespace) -> None:
    if args.seconds or args.why or args.end:
        raise UsageError(
            "which finding is to be silenced?",
            hint='fleetops silence HOST CHECK --for 2h --why "what you know"',
        )
