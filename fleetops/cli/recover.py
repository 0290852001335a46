"""`fleetops recover NODE`: diagnose, plan, confirm, act, verify, relaunch."""

import argparse

from fleetops.cli._operate import add_change_options, add_measure_option, operate, profile_named, the_node
from fleetops.cli.world import World
from fleetops.model.exit import Exit

NAME = "recover"
SUMMARY = "clean up a wedged node, reset its GPUs if needed, relaunch its service at a size that fits"


def configure(parser: argparse.ArgumentParser) -> None:
    """NODE, what to relaunch, and the options of a change."""
    parser.add_argument("node", metavar="NODE", help="the node, by its inventory name")
    relaunch = parser.add_mutually_exclusive_group()
    relaunch.add_argument("--profile", metavar="P", help="relaunch this profile instead of the node's own")
    relaunch.add_argument("--no-relaunch", action="store_true", help="leave the node clean, start nothing")
    add_measure_option(parser)
    add_change_options(parser)


def execute(args: argparse.Namespace, world: World) -> Exit:
    """The shipped playbook recover.yaml on one node."""
    from fleetops.playbook.load import measured_fully, shipped_playbook, without_relaunch

    inventory = world.inventory(args)
    node = the_node(inventory, args.node)
    profile = profile_named(inventory, args.profile or node.profile) if args.profile or node.profile else None
    book = shipped_playbook("recover")
    if args.measure:
        book = measured_fully(book)
    if args.no_relaunch or profile is None:
        book = without_relaunch(book)
    return operate(args, world, inventory, node=node, book=book, profile=profile)
