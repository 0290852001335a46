"""`fleetops runs`: what was done to the fleet from here, newest first."""

import argparse

from fleetops.cli.world import World
from fleetops.model.exit import Exit

NAME = "runs"
SUMMARY = "list what was done to the fleet from here: recoveries, kills, resets, launches"


def configure(parser: argparse.ArgumentParser) -> None:
    """How many to list."""
    parser.add_argument("--limit", type=_count, default=20, metavar="N", help="how many (default 20)")


def _count(text: str) -> int:
    """A number of runs. Raises ValueError, which argparse words."""
    if not text.isdecimal() or int(text) < 1:
        raise ValueError
    return int(text)


_count.__name__ = "a number from 1 up"


def execute(args: argparse.Namespace, world: World) -> Exit:
    """Read the journals of the state folder; nothing is contacted."""
    from fleetops.playbook.journal import list_runs
    from fleetops.render.runs import runs_json, show_runs

    output = world.output(args)
    runs = list_runs(world.state(world.inventory(args)))[: args.limit]
    if output.wants_json:
        output.json(runs_json(runs))
    else:
        show_runs(output, runs, now=world.clock())
    return Exit.FINE
