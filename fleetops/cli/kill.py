"""`fleetops kill NODE`: rungs 1 and 2, nothing more."""

import argparse

from fleetops.cli._operate import add_change_options, operate, profile_named, the_node
from fleetops.cli.world import World
from fleetops.model.exit import Exit

NAME = "kill"
SUMMARY = "stop the service on a node, dead and orphaned workers included, and clear what it leaves"


def configure(parser: argparse.ArgumentParser) -> None:
    """NODE and the options of a change."""
    parser.add_argument("node", metavar="NODE")
    add_change_options(parser)


def execute(args: argparse.Namespace, world: World) -> Exit:
    """The shipped playbook kill.yaml on one node."""
    from fleetops.playbook.load import shipped_playbook

    inventory = world.inventory(args)
    node = the_node(inventory, args.node)
    profile = profile_named(inventory, node.profile) if node.profile else None
    return operate(args, world, inventory, node=node, book=shipped_playbook("kill"), profile=profile)
