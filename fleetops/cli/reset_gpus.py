"""`fleetops reset-gpus NODE`: rung 3, for the cards that hold memory without an owner or ask for a reset."""

import argparse

from fleetops.cli._operate import add_change_options, operate_on_node
from fleetops.cli.world import World
from fleetops.model.exit import Exit

NAME = "reset-gpus"
SUMMARY = "reset a node's GPUs where their driver lives, if they hold memory without an owner or ask for it"


def configure(parser: argparse.ArgumentParser) -> None:
    """NODE and the options of a change."""
    parser.add_argument("node", metavar="NODE", help="the node, by its inventory name")
    add_change_options(parser)


def execute(args: argparse.Namespace, world: World) -> Exit:
    """The shipped playbook reset-gpus.yaml on one node."""
    return operate_on_node(args, world, "reset-gpus")
