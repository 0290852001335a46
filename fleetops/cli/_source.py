"""`--source DIR` and `--release NAME==VERSION`: an engine's source on this machine, for the commands that read one."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fleetops.cli.world import World
from fleetops.model.errors import UsageError

if TYPE_CHECKING:
    from fleetops.fleet.local_tree import LocalTree
    from fleetops.render.output import Output


def add_source_options(parser: argparse.ArgumentParser) -> None:
    """The two, of which at most one is given, and which package is meant."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--source",
        metavar="DIR",
        help="read this folder instead of a node's: the package's own, its parent, or an unpacked wheel",
    )
    source.add_argument(
        "--release", metavar="NAME==VERSION", help="read a release, fetched with pip and kept in the cache"
    )
    parser.add_argument("--engine", metavar="NAME", help="which package is meant: sglang, vllm or lmcache")


def open_source(args: argparse.Namespace, world: World, output: "Output") -> "LocalTree | None":
    """The source that was named; None where none was. A release is fetched where the cache has it not.

    Raises:
        UsageError: there is no such folder or release, or the options contradict each other.
        FleetopsError: a release cannot be fetched.
    """
    from fleetops.fleet.local_tree import open_tree

    if args.source is not None:
        if not args.source.strip():
            raise UsageError(
                "--source names no folder: it is empty", hint="--source . is the folder you are in"
            )
        return open_tree(Path(world.cwd, args.source), args.engine)
    if args.release is None:
        return None
    from fleetops.fleet.releases import parse_release, release_folder
    from fleetops.store.cache import cache_folder

    name, version = parse_release(args.release)
    if args.engine not in {None, name}:
        raise UsageError(f"--release {args.release} and --engine {args.engine} contradict each other")
    cache = cache_folder(world.environ)
    if cache is None:
        raise UsageError(
            "there is no folder to keep a release in: HOME is not set", hint="set FLEETOPS_CACHE"
        )
    with output.err.status(f"fetching {name} {version}"):
        return open_tree(release_folder(name, version, cache, world.environ), name)
