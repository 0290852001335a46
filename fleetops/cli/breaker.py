"""`fleetops breaker`: what holds further recoveries up, and the word of a person that closes it again."""

import argparse
from typing import TYPE_CHECKING

from fleetops.cli.world import World
from fleetops.model.errors import UsageError
from fleetops.model.exit import Exit

if TYPE_CHECKING:
    from fleetops.model.breaker import Breaker
    from fleetops.store.breaker import BreakerStore

NAME = "breaker"
SUMMARY = (
    "show which nodes are under recovery or failed, and whether that holds further ones up; close it again"
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Nothing to show it; `reset` and a reason to close it."""
    parser.add_argument(
        "action",
        nargs="?",
        choices=("reset",),
        help="close it: nothing that has happened so far counts any more",
    )
    parser.add_argument("--why", metavar="TEXT", help="with reset: what you have found; kept with your name")


def execute(args: argparse.Namespace, world: World) -> Exit:
    """Read or write the state folder; nothing is contacted."""
    from fleetops.render.breaker import breaker_json, show_breaker, show_reset
    from fleetops.store.breaker import BreakerStore

    why = _reason(args)
    inventory = world.inventory(args)
    store, output = BreakerStore(world.state(inventory), inventory.settings.breaker), world.output(args)
    if args.action == "reset":
        before = _reset(store, world, why)
        now = store.read(world.clock())
        if output.wants_json:
            output.json(breaker_json(now))
        else:
            show_reset(output, before, now.resets[0])
        return Exit.FINE
    seen = store.read(world.clock())
    if output.wants_json:
        output.json(breaker_json(seen))
    else:
        show_breaker(output, seen)
    return Exit.FINDINGS if seen.is_full else Exit.FINE


def _reason(args: argparse.Namespace) -> str:
    """Why it is closed; "" where it is only shown. Raises UsageError where the one comes without the other."""
    why = (args.why or "").strip()
    if args.action == "reset" and not why:
        raise UsageError(
            "closing the breaker needs a reason", hint='fleetops breaker reset --why "what you have found"'
        )
    if args.action != "reset" and args.why is not None:
        raise UsageError(
            "--why is the reason of a reset", hint='fleetops breaker reset --why "what you have found"'
        )
    return why


def _reset(store: "BreakerStore", world: World, why: str) -> "Breaker":
    from fleetops.playbook.lock import Owner

    return store.reset(world.clock(), Owner.this_process("").whose, why)
