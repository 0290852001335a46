"""`fleetops measure NODE`: tokens a second, time to the first token and between tokens, under a load of its own."""

import argparse
from typing import TYPE_CHECKING

from fleetops.cli._options import duration
from fleetops.cli.world import World
from fleetops.model.errors import UsageError
from fleetops.model.exit import Exit
from fleetops.model.standard import CONCURRENCY, OUTPUT_TOKENS, PROMPT_TOKENS, WAVES

if TYPE_CHECKING:
    from fleetops.model.fleet import Inventory, Node, Profile
    from fleetops.model.load import Load

NAME = "measure"
SUMMARY = "put a load on a node's service and show its rates and delays"

_MOST_STREAMS = 1024
_MOST_TOKENS = 2_000_000


def configure(parser: argparse.ArgumentParser) -> None:
    """NODE, the load, and where the service is."""
    parser.add_argument("node", metavar="NODE", help="the node, by its inventory name")
    load = parser.add_argument_group("the load")
    load.add_argument(
        "--concurrency",
        type=_streams,
        metavar="N",
        help=f"requests under way at once (default {CONCURRENCY})",
    )
    for name, what, usual in (
        ("--prompt-tokens", "length of each prompt", PROMPT_TOKENS),
        ("--output-tokens", "length of each answer", OUTPUT_TOKENS),
    ):
        load.add_argument(
            name, type=_tokens, default=usual, metavar="N", help=f"{what} (default %(default)s)"
        )
    load.add_argument(
        "--requests", type=_count, metavar="N", help=f"how many in all (default {WAVES} for each stream)"
    )
    load.add_argument(
        "--seed",
        type=int,
        metavar="N",
        help="make the same prompts as a run with this seed (default: new ones)",
    )
    where = parser.add_argument_group("the service")
    where.add_argument("--port", type=_port, metavar="P", help="its port (default: the running service's)")
    where.add_argument(
        "--profile", metavar="P", help="the profile it was launched with, if not the node's own"
    )
    where.add_argument(
        "--api-key-env", metavar="NAME", help="the environment variable that holds its API key"
    )
    time = parser.add_argument_group("how long it may take")
    time.add_argument(
        "--deadline", type=duration, default=600.0, metavar="D", help="all requests together (default 10m)"
    )
    time.add_argument(
        "--request-deadline", type=duration, default=120.0, metavar="D", help="one request (default 2m)"
    )


def execute(args: argparse.Namespace, world: World) -> Exit:
    """Find the service, say what is about to happen, measure, show. Ctrl-C shows what was measured so far."""
    from fleetops.cli._operate import the_node
    from fleetops.fleet.measure import exit_code, find_service
    from fleetops.render.measure import MeasureScreen, announcement, measure_json, measure_screen
    from fleetops.steps.support.measuring import Measuring

    load = _load(args)
    key = _key(args, world)
    inventory = world.inventory(args)
    node = the_node(inventory, args.node)
    profile = _profile(args, inventory, node)
    output = world.output(args)
    with world.connections(inventory) as connections:
        with output.err.status(f"looking at {node.name}"):
            target, service = find_service(connections, node, profile=profile, port=args.port, key=key)
        measuring = Measuring(
            service,
            target.model,
            load,
            seed=args.seed,
            request_s=args.request_deadline,
            within_s=args.deadline,
        )
        if not output.wants_json:
            output.note(announcement(target, load, measuring.seed))
        with MeasureScreen(output, measuring.tally):
            found = measuring.run()
        if output.wants_json:
            output.json(measure_json(target, found))
        else:
            output.show(measure_screen(target, found, output.width))
    return exit_code(found)


def _load(args: argparse.Namespace) -> "Load":
    """The load as asked for; what is left open follows from the rest. Raises UsageError."""
    from fleetops.model.load import Load

    if args.concurrency and args.requests and args.requests < args.concurrency:
        raise UsageError(
            f"{args.requests} requests cannot keep {args.concurrency} streams busy",
            hint=f"--requests {args.concurrency * WAVES}, or fewer streams",
        )
    concurrency = args.concurrency or min(CONCURRENCY, args.requests or CONCURRENCY)
    return Load(
        concurrency=concurrency,
        prompt_tokens=args.prompt_tokens,
        output_tokens=args.output_tokens,
        requests=args.requests or concurrency * WAVES,
    )


def _key(args: argparse.Namespace, world: World) -> str:
    """The API key, which never stands on a command line. Raises UsageError where the variable is not set."""
    if not args.api_key_env:
        return ""
    key = world.environ.get(args.api_key_env, "")
    if not key or not key.isascii() or not key.isprintable():
        what = "is not set" if not key else "holds no API key: it has characters that no HTTP header may have"
        raise UsageError(f"the environment variable {args.api_key_env} {what}")
    return key


def _profile(args: argparse.Namespace, inventory: "Inventory", node: "Node") -> "Profile | None":
    from fleetops.cli._operate import profile_named

    name = args.profile or node.profile
    return profile_named(inventory, name) if name else None


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def _tokens(text: str) -> int:
    count = _count(text)
    if count > _MOST_TOKENS:
        raise argparse.ArgumentTypeError(f"{count:,} tokens are more than {_MOST_TOKENS:,}")
    return count


def _streams(text: str) -> int:
    count = _count(text)
    if count > _MOST_STREAMS:
        raise argparse.ArgumentTypeError(f"{count} streams are more than {_MOST_STREAMS}")
    return count


def _port(text: str) -> int:
    port = _count(text)
    if port > 65535:
        raise argparse.ArgumentTypeError(f"{port} is no port")
    return port
