"""`fleetops history`: what sweeps remember of a host, its numbers drawn over time."""

import argparse

from fleetops.cli._findings import memory
from fleetops.cli._options import duration
from fleetops.cli.world import World
from fleetops.model.errors import UsageError
from fleetops.model.exit import Exit

NAME = "history"
SUMMARY = "show what sweeps remember of a host: its health, its findings, and its numbers over time"


def configure(parser: argparse.ArgumentParser) -> None:
    """Which host, which fact, how far back."""
    parser.add_argument("host", metavar="HOST", help="the node or hypervisor, by its inventory name")
    parser.add_argument("fact", metavar="FACT", nargs="?", help="draw this number: mem-available-bytes, ...")
    parser.add_argument(
        "--since", type=duration, default=86_400.0, metavar="D", help="how far back (default 1d)"
    )


def execute(args: argparse.Namespace, world: World) -> Exit:
    """Read the state folder; nothing is contacted."""
    from fleetops.inventory.problems import did_you_mean
    from fleetops.render.history import fact_screen, history_json, history_screen

    inventory, output = world.inventory(args), world.output(args)
    hosts = [*inventory.nodes, *inventory.hypervisors]
    if args.host not in hosts:
        raise UsageError(f"there is no host {args.host}", hint=did_you_mean(args.host, hosts))
    store, now = memory(world, inventory), world.clock()
    since = now - args.since
    series = dict(store.samples(args.host, since=since))
    if args.fact is not None and args.fact not in series:
        known = f"known: {', '.join(sorted(series))}" if series else f"fleetops sweep {args.host}"
        raise UsageError(
            f"no sweep of {args.host} has kept {args.fact} within that time",
            hint=did_you_mean(args.fact, series) or known,
        )
    if args.fact is not None:
        series = {args.fact: series[args.fact]}
    health = store.health(args.host, since=since)
    found = [one for one in store.tracked(now) if one.finding.host == args.host and one.last_seen >= since]
    if output.wants_json:
        output.json(history_json(args.host, health, series, found))
    elif args.fact is not None:
        output.lines(fact_screen(args.host, args.fact, series[args.fact], output.width))
    else:
        output.lines(history_screen(args.host, health, series, found, output.width))
    return Exit.FINE
