"""`fleetops ack`: somebody has seen a finding, and says so to whoever looks at the next sweep."""

import argparse

from fleetops.cli._findings import add_which, memory, must_exist, reason, who
from fleetops.cli.world import World
from fleetops.model.errors import UsageError
from fleetops.model.exit import Exit

NAME = "ack"
SUMMARY = "say that a finding is known and looked after; every sweep shows it until it is gone"


def configure(parser: argparse.ArgumentParser) -> None:
    """Which finding, and why."""
    add_which(parser)
    parser.add_argument("--why", metavar="TEXT", help="what you know of it; kept with your name")


def execute(args: argparse.Namespace, world: World) -> Exit:
    """Write it down; nothing is contacted."""
    why = reason(args, f"fleetops ack {args.host} {args.check}")
    inventory, output = world.inventory(args), world.output(args)
    must_exist(inventory, args.host, args.check)
    store, now, me = memory(world, inventory), world.clock(), who()
    there = [
        one
        for one in store.tracked(now)
        if (one.finding.host, one.finding.check) == (args.host, args.check) and one.cleared_at is None
    ]
    if not there:
        raise UsageError(
            f"no sweep has found {args.check} on {args.host}, or it is gone",
            hint=f"fleetops sweep {args.host}",
        )
    store.acknowledge(args.host, args.check, at=now, who=me, why=why)
    if output.wants_json:
        output.json(
            {
                "schema": "fleetops.ack/1",
                "host": args.host,
                "check": args.check,
                "who": me,
                "why": why,
                "at": now,
            }
        )
    else:
        output.show(f"{args.host}: {there[0].finding.subject}, acknowledged by {me}: {why}")
    return Exit.FINE
