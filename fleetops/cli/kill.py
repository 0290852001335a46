"""`fleetops kill NODE`: rungs 1 and 2, nothing more."""

import argparse

from fleetops.cli._operate import add_change_options, operate_on_node
from fleetops.cli.world import World
from fleetops.model.exit import Exit

NAME = "kill"
SUMMARY = "stop the service on a node, dead and orphaned workers included, and clear what it leaves"


def configure(parser: argparse.ArgumentParser) -> None:
    """NODE and the options of a change."""
    parser.add_argument("node", metavar="NODE", help="the node, by its inventory name")
    add_change_options(parser)


def execute(args: argparse.Namespace, world: World) -> Exit:
    """The shipped playbook kill.yaml on one node."""
    return operate_on_node(args, world, "kill")
