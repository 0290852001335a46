"""`fleetops probe`: what holds a node's memory, GPUs and port, and what to type next."""

import argparse

from fleetops.cli.world import World
from fleetops.model.exit import Exit

NAME = "probe"
SUMMARY = "show what holds a node's memory, GPUs and port, and what to do about it"


def configure(parser: argparse.ArgumentParser) -> None:
    """Which nodes."""
    parser.add_argument(
        "hosts",
        nargs="*",
        metavar="HOSTS",
        default=["*"],
        help="nodes: node-174, node-[170-179], @group; all when left out",
    )
    parser.add_argument(
        "--fast", action="store_true", help="RSS instead of PSS: cheaper for a node with very many processes"
    )


def execute(args: argparse.Namespace, world: World) -> Exit:
    """Probe the nodes at once and show them in the inventory's order."""
    from fleetops.fleet.probe import exit_code, probe_nodes
    from fleetops.inventory import select_hosts
    from fleetops.model.fleet import Node
    from fleetops.render.probe import probe_json, probe_screen
    from fleetops.store.database import Store

    inventory = world.inventory(args)
    nodes = [host for host in select_hosts(inventory, args.hosts, of="nodes") if isinstance(host, Node)]
    order = {node.name: place for place, node in enumerate(nodes)}
    output = world.output(args)
    remembered = Store(world.state(inventory, reads=True), output.note)
    with world.connections(inventory) as connections:
        found = probe_nodes(connections, inventory, nodes, remembered, pss=not args.fast)
        reports = sorted(found, key=lambda report: order[report.node.name])
    if output.wants_json:
        output.json(probe_json(reports))
    else:
        output.show(probe_screen(reports, output.width))
    return exit_code(reports)
