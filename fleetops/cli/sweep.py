"""`fleetops sweep`: is the fleet well, and if not, what exactly, and what to type."""

import argparse

from fleetops.cli.world import World
from fleetops.model.exit import Exit

NAME = "sweep"
SUMMARY = "check every host of the fleet: what is wrong, since when, and what to type next"


def configure(parser: argparse.ArgumentParser) -> None:
    """Which hosts."""
    parser.add_argument(
        "hosts",
        nargs="*",
        metavar="HOSTS",
        default=["*"],
        help="nodes and hypervisors: node-174, pve-*, @group; all when left out",
    )


def execute(args: argparse.Namespace, world: World) -> Exit:
    """One sweep, shown and remembered."""
    from fleetops.fleet.sweeping import exit_code, sweep_once
    from fleetops.inventory import select_hosts
    from fleetops.model.fleet import Hypervisor, Node
    from fleetops.render.sweep import sweep_json, sweep_screen
    from fleetops.render.waiting import waiting
    from fleetops.store.cache import cache_folder
    from fleetops.store.database import Store
    from fleetops.store.proofs import Proofs
    from fleetops.store.sweeps import SweepStore

    inventory, output = world.inventory(args), world.output(args)
    chosen = select_hosts(inventory, args.hosts, of="all")
    hosts = [host for host in chosen if isinstance(host, Node | Hypervisor)]
    state = world.state(inventory)
    memory, records = SweepStore(state), Store(state, output.note)
    memory.must_be_writable()
    with world.connections(inventory) as connections, waiting(output) as on_answer:
        sweep = sweep_once(
            connections,
            inventory,
            hosts,
            memory=memory,
            records=records,
            proofs=Proofs(cache_folder(world.environ)),
            clock=world.clock,
            on_answer=on_answer,
        )
    if output.wants_json:
        output.json(sweep_json(sweep))
    else:
        output.lines(sweep_screen(sweep, output.width))
    return exit_code(sweep)
