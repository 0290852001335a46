"""`fleetops reset-gpus NODE`: rung 3, for the cards that hold memory without an owner or ask for a reset."""

import argparse

from fleetops.cli._operate import add_change_options, operate, profile_named, the_node
from fleetops.cli.world import World
from fleetops.model.exit import Exit

NAME = "reset-gpus"
SUMMARY = "reset a node's GPUs where their driver lives, if they hold memory without an owner or ask for it"


def configure(parser: argparse.ArgumentParser) -> None:
    """NODE and the options of a change."""
    parser.add_argument("node", metavar="NODE")
    add_change_options(parser)


def execute(args: argparse.Namespace, world: World) -> Exit:
    """The shipped playbook reset-gpus.yaml on one node."""
    from fleetops.playbook.load import shipped_playbook

    inventory = world.inventory(args)
    node = the_node(inventory, args.node)
    profile = profile_named(inventory, node.profile) if node.profile else None
    return operate(args, world, inventory, node=node, book=shipped_playbook("reset-gpus"), profile=profile)
