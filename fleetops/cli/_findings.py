"""What `ack` and `silence` share: which finding is meant, who says so, and where that is kept."""

import argparse
from typing import TYPE_CHECKING

from fleetops.cli.world import World
from fleetops.model.errors import UsageError

if TYPE_CHECKING:
    from fleetops.model.fleet import Inventory
    from fleetops.store.sweeps import SweepStore


def add_which(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """HOST and CHECK."""
    how = "?" if optional else None
    parser.add_argument(
        "host", metavar="HOST", nargs=how, help="the node or hypervisor, by its inventory name"
    )
    parser.add_argument("check", metavar="CHECK", nargs=how, help="the check, as docs/checks.md names it")


def must_exist(inventory: "Inventory", host: str, check: str) -> None:
    """Raises UsageError, with the nearest name, for a host or check that there is not."""
    from fleetops.fleet.package_checks import every_check
    from fleetops.inventory.problems import did_you_mean

    hosts = [*inventory.nodes, *inventory.hypervisors]
    if host not in hosts:
        raise UsageError(f"there is no host {host}", hint=did_you_mean(host, hosts))
    own = (one.full_name for one in inventory.checks.values())
    checks = sorted({*(one.name for one in every_check()), *own})
    if check not in checks:
        raise UsageError(f"there is no check {check}", hint=did_you_mean(check, checks))


def reason(args: argparse.Namespace, command: str) -> str:
    """The operator's words. Raises UsageError where there are none."""
    why: str = (args.why or "").strip()
    if not why:
        raise UsageError(
            "it needs a reason, for whoever reads it later", hint=f'{command} --why "what you know"'
        )
    return why


def who() -> str:
    """Whoever runs this, and where."""
    from fleetops.playbook.lock import Owner

    return Owner.this_process("").whose


def memory(world: World, inventory: "Inventory") -> "SweepStore":
    """What sweeps remember of this inventory's hosts."""
    from fleetops.store.sweeps import SweepStore

    return SweepStore(world.state(inventory))
