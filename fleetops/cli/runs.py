"""`fleetops runs`: what was done to the fleet from here, newest first; `runs show` tells one run, `--bundle` packs it."""

import argparse
from typing import TYPE_CHECKING

from fleetops.cli._options import add_shared_options
from fleetops.cli.world import World
from fleetops.model.exit import Exit

if TYPE_CHECKING:
    from fleetops.model.story import Story
    from fleetops.render.output import Output

NAME = "runs"
SUMMARY = "list what was done to the fleet from here: recoveries, kills, resets, launches"

_SHOW = "tell one run: seen, planned, done, verified, how it ended, and what to type next"


def configure(parser: argparse.ArgumentParser) -> None:
    """How many to list, or which one to tell."""
    parser.add_argument("--limit", type=_count, default=20, metavar="N", help="how many (default 20)")
    commands = parser.add_subparsers(dest="runs_command", metavar="[COMMAND]")
    show = commands.add_parser("show", help=_SHOW, description=_SHOW)
    add_shared_options(show)
    show.add_argument("run", metavar="ID", help="the run: its id, or a beginning or an end that no other has")
    show.add_argument(
        "--bundle",
        metavar="FILE",
        nargs="?",
        const="",
        help="pack its evidence into FILE, secrets masked (default ID.tar.gz here); overwrites nothing",
    )


def _count(text: str) -> int:
    """A number of runs. Raises ValueError, which argparse words."""
    if not text.isdecimal() or int(text) < 1:
        raise ValueError
    return int(text)


_count.__name__ = "a number from 1 up"


def execute(args: argparse.Namespace, world: World) -> Exit:
    """Read the journals of the state folder; nothing is contacted."""
    if args.runs_command == "show":
        return _show(args, world)
    from fleetops.inventory.secrets import known_secrets
    from fleetops.playbook.journal import list_runs
    from fleetops.playbook.story import without_secrets
    from fleetops.render.runs import runs_json, show_runs

    inventory, output = world.inventory(args), world.output(args)
    known, found = known_secrets(inventory), list_runs(world.state(inventory, reads=True))[: args.limit]
    runs = [without_secrets(run, known) for run in found]
    if output.wants_json:
        output.json(runs_json(runs))
    else:
        show_runs(output, runs, now=world.clock())
    return Exit.FINE


def _show(args: argparse.Namespace, world: World) -> Exit:
    from fleetops.inventory.secrets import known_secrets
    from fleetops.playbook.find_run import find_run
    from fleetops.playbook.story import tell_story
    from fleetops.render.runs import run_json
    from fleetops.render.story import show_story

    inventory = world.inventory(args)
    state, known = world.state(inventory, reads=True), known_secrets(inventory)
    (run, later), output = find_run(state, args.run), world.output(args)
    story = tell_story(state / "runs" / run.run_id, run, known, later)
    if args.bundle is not None:
        _bundle(args, world, output, story, known)
    elif output.wants_json:
        output.json(run_json(story))
    else:
        show_story(output, story)
    return Exit.FINE


def _bundle(
    args: argparse.Namespace, world: World, output: "Output", story: "Story", known: tuple[str, ...]
) -> None:
    """Pack, and say what is inside; the screen and the facts as `--json` gives them go along."""
    import json

    from fleetops.playbook.bundle import pack
    from fleetops.render.runs import bundle_json, run_json
    from fleetops.render.story import show_bundle, told_as_text

    told = {"story.txt": told_as_text(story), "run.json": json.dumps(run_json(story), indent=1) + "\n"}
    bundle = pack(story, told, world.cwd / args.bundle, known)
    if output.wants_json:
        output.json(bundle_json(story, bundle))
    else:
        show_bundle(output, bundle)
