"""`fleetops sweep`: is the fleet well, and if not, what exactly, and what to type; once, or every so often."""

import argparse
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from fleetops.cli._options import add_hosts, address, duration
from fleetops.cli.world import World
from fleetops.model.errors import UsageError
from fleetops.model.exit import Exit, worst

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleetops.cli._publishing import Publish
    from fleetops.fleet.sweeping import Sweeper
    from fleetops.model.fleet import Inventory
    from fleetops.model.sweep import Sweep
    from fleetops.render.output import Output

    After = Callable[[Sweep], Exit | None]

NAME = "sweep"
SUMMARY = "check every host of the fleet: what is wrong, since when, and what to type next"


def configure(parser: argparse.ArgumentParser) -> None:
    """Which hosts, how often, how long."""
    add_hosts(parser)
    parser.add_argument(
        "--every",
        type=duration,
        metavar="D",
        help="stay, and sweep every D (5m) over warm connections; with --json, one line a sweep",
    )
    parser.add_argument(
        "--deadline",
        type=duration,
        default=60.0,
        metavar="D",
        help="how long one sweep may take, whatever its hosts do (default 60s)",
    )
    parser.add_argument(
        "--textfile",
        metavar="FILE",
        help="write each sweep into FILE (NAME.prom) for node_exporter's textfile collector, in one step",
    )
    parser.add_argument(
        "--serve",
        type=address,
        metavar="ADDRESS",
        help="be an exporter for Prometheus, with --every: :9874 is this machine alone, "
        "[::]:9874 everybody, 10.0.0.5:9874 one address",
    )
    parser.add_argument(
        "--recover",
        metavar="POLICY",
        help="after a sweep, recover at most one node, as far as this policy of the inventory says; never without",
    )


def execute(args: argparse.Namespace, world: World) -> Exit:
    """One sweep or many, shown and remembered; nothing is changed anywhere, unless a policy is asked for by its name."""
    from fleetops.fleet.sweeping import Sweeper
    from fleetops.inventory import select_hosts
    from fleetops.model.fleet import Hypervisor, Node
    from fleetops.store.cache import cache_folder
    from fleetops.store.database import Store
    from fleetops.store.proofs import Proofs
    from fleetops.store.sweeps import SweepStore

    if args.serve and not args.every:
        raise UsageError(
            "an exporter stays, and has to know how often to sweep",
            hint="add --every 5m",
        )
    inventory, output = world.inventory(args), world.output(args)
    after = _after(args.recover, world, inventory, output)
    chosen = select_hosts(inventory, args.hosts, of="all")
    state = world.state(inventory, reads=True)
    with _publishing(args, world, output) as publish, world.connections(inventory) as connections:
        sweeper = Sweeper(
            sessions=connections,
            inventory=inventory,
            hosts=[host for host in chosen if isinstance(host, Node | Hypervisor)],
            memory=SweepStore(state),
            records=Store(state, output.note),
            proofs=Proofs(cache_folder(world.environ)),
            deadline_s=args.deadline,
            clock=world.clock,
            tell=output.note,
        )
        if args.every:
            return _stay(sweeper, args.every, output, publish, after)
        return _once(sweeper, output, publish, after)


def _after(name: str | None, world: World, inventory: "Inventory", output: "Output") -> "After":
    """What comes after each sweep: nothing, unless a policy is named."""
    if name is None:
        return lambda _: None
    from fleetops.cli._policy import act, policy_named

    policy = policy_named(inventory, name)
    return lambda sweep: act(sweep, policy, world, inventory, output)


def _publishing(
    args: argparse.Namespace, world: World, output: "Output"
) -> AbstractContextManager["Publish"]:
    if not (args.textfile or args.serve):
        return nullcontext(lambda _: Exit.FINE)
    from fleetops.cli._publishing import publishing

    return publishing(
        file=world.cwd / args.textfile if args.textfile else None,
        address=args.serve,
        every_s=args.every,
        clock=world.clock,
        tell=output.note,
    )


def _once(sweeper: "Sweeper", output: "Output", publish: "Publish", after: "After") -> Exit:
    from dataclasses import replace

    from fleetops.fleet.sweeping import exit_code
    from fleetops.render.sweep import sweep_json, sweep_screen
    from fleetops.render.waiting import waiting

    with waiting(output) as on_answer:
        sweep = replace(sweeper, on_answer=on_answer).once()
    published = publish(sweep)
    if output.wants_json:
        output.json(sweep_json(sweep))
    else:
        output.lines(sweep_screen(sweep, output.width))
    acted = after(sweep)
    return worst((exit_code(sweep), published, Exit.FINE if acted is None else acted))


def _stay(sweeper: "Sweeper", every_s: float, output: "Output", publish: "Publish", after: "After") -> Exit:
    """Until somebody ends it. The whole screen where there is news, else a line."""
    from fleetops.render.sweep import has_news, sweep_json, sweep_line, sweep_news

    first = True
    for sweep in sweeper.every(every_s):
        publish(sweep)
        if output.wants_json:
            output.json(sweep_json(sweep))
        elif first or has_news(sweep):
            output.lines(sweep_news(sweep, output.width))
        else:
            output.lines(sweep_line(sweep))
        output.flush()
        after(sweep)
        first = False
    return Exit.FINE
