"""`fleetops launch --profile P [NODES]`: prove, size, preflight, guard, start, ready, record."""

import argparse
from typing import TYPE_CHECKING, Any

from fleetops.cli._operate import add_change_options, add_measure_option, operate, profile_named
from fleetops.cli.world import World
from fleetops.model.errors import UsageError
from fleetops.model.exit import Exit, worst

if TYPE_CHECKING:
    from fleetops.model.fleet import Inventory, Node, Profile

NAME = "launch"
SUMMARY = "start a profile's service at a size that is proven and fits, and watch it come up"


def configure(parser: argparse.ArgumentParser) -> None:
    """The profile, the nodes, and the options of a change."""
    parser.add_argument(
        "nodes", metavar="NODES", nargs="*", help="default: the nodes whose inventory names the profile"
    )
    parser.add_argument("--profile", metavar="P", required=True, help="the profile to launch")
    add_measure_option(parser)
    add_change_options(parser)


def execute(args: argparse.Namespace, world: World) -> Exit:
    """The shipped playbook launch.yaml on each node, one after the other; a failure ends it before the next."""
    from fleetops.inventory.patterns import select_hosts
    from fleetops.model.fleet import Node

    inventory = world.inventory(args)
    profile = profile_named(inventory, args.profile)
    if args.nodes:
        nodes = [host for host in select_hosts(inventory, args.nodes) if isinstance(host, Node)]
    else:
        nodes = [node for node in inventory.nodes.values() if node.profile == profile.name]
    if not nodes:
        raise UsageError(
            f"no node in the inventory names profile {profile.name}",
            hint=f"fleetops launch --profile {profile.name} NODE",
        )
    return _launch_all(args, world, inventory, nodes, profile)


def _launch_all(
    args: argparse.Namespace, world: World, inventory: "Inventory", nodes: "list[Node]", profile: "Profile"
) -> Exit:
    """One node after the other; with --json one object, whose `launches` has an entry for each node that was reached."""
    from fleetops.playbook.load import measured_fully, shipped_playbook

    codes: list[Exit] = []
    bodies: list[dict[str, Any]] = []
    try:
        for node in nodes:
            book = shipped_playbook("launch")
            book = measured_fully(book) if args.measure else book
            codes.append(
                operate(args, world, inventory, node=node, book=book, profile=profile, emit=bodies.append)
            )
            if codes[-1] is not Exit.FINE:
                break
    finally:
        if len(nodes) == 1 and bodies:
            world.output(args).json(bodies[0])
        elif bodies:
            world.output(args).json({"schema": "fleetops.launches/1", "launches": bodies})
    return worst(codes)
