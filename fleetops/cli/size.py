"""`fleetops size`: does a launch fit, line by line, and what does it hold."""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fleetops.cli._source import add_source_options, open_source
from fleetops.cli.world import World
from fleetops.model.errors import UsageError
from fleetops.model.exit import Exit

if TYPE_CHECKING:
    from fleetops.fleet.local_tree import LocalTree
    from fleetops.fleet.size_given import Given
    from fleetops.model.fleet import FlagValue, Inventory, Node, Profile
    from fleetops.model.size import Sizing
    from fleetops.render.output import Output
    from fleetops.store.proofs import Proofs

NAME = "size"
SUMMARY = "show whether a launch fits into host memory, line by line, and the largest size that does"

_MOST_BYTES = 2**63


def configure(parser: argparse.ArgumentParser) -> None:
    """The profile and the nodes, and for each thing that is read there an option that says it instead."""
    parser.add_argument(
        "nodes",
        nargs="*",
        metavar="NODES",
        help="nodes: node-174, node-[170-179], @group; those that name the profile when left out",
    )
    parser.add_argument(
        "--profile", metavar="P", help="what would be launched; each node's own when left out"
    )
    parser.add_argument(
        "--flag", metavar="FLAG", help="the flag in question; the profile's own when left out"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="FLAG=VALUE",
        dest="settings",
        help="size with this flag instead of the profile's; repeatable",
    )
    add_source_options(parser)
    _add_numbers(parser)


def _add_numbers(parser: argparse.ArgumentParser) -> None:
    for option, kind, metavar, words in (
        ("--model-config", str, "FILE", "the model's config.json, or the folder that it lies in"),
        ("--draft-config", str, "FILE", "the same of a draft model of its own"),
        ("--available", _bytes, "BYTES", "what is available: 445000000000, 445e9, '445 GB' or 414GiB"),
        ("--reserve", _bytes, "BYTES", "left alone for loading (default: the profile's, else 40e9)"),
        ("--floor", _bytes, "BYTES", "left free for the node itself (default: the profile's, else 16e9)"),
        ("--ranks", _count, "N", "ranks on one node"),
        ("--tp", _count, "N", "tensor-parallel size, which divides the KV heads"),
        ("--page-size", _count, "N", "tokens of a page"),
        ("--kv-dtype", _kv_type, "TYPE", "of the KV store, as --kv-cache-dtype has it"),
        ("--device-tokens", _count, "N", "of one rank's GPU pool, which ratios multiply"),
    ):
        parser.add_argument(option, type=kind, metavar=metavar, help=words)


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 0 < len(text) < 12 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 up")
    return int(text)


def _kv_type(text: str) -> str:
    """A type whose bytes are known here."""
    from fleetops.sizing.element import KNOWN_TYPES

    if text.lower() not in KNOWN_TYPES:
        raise argparse.ArgumentTypeError(f"{text!r} is no type that is known: {', '.join(KNOWN_TYPES)}")
    return text.lower()


def _bytes(text: str) -> int:
    """Plain bytes (`445000000000`, `445e9`), or a size with its unit."""
    from decimal import Decimal, InvalidOperation

    from fleetops.inventory.quantity import parse_size

    stripped = text.strip()
    try:
        number = Decimal(stripped) if stripped[-1:].isdigit() else Decimal(parse_size(stripped))
    except (InvalidOperation, ValueError):
        number = Decimal(-1)
    if not 0 <= number < _MOST_BYTES or number != number.to_integral_value():
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of bytes like 445000000000, 445e9 or '445 GB'"
        )
    return int(number)


def reword(words: Sequence[str]) -> list[str]:
    """`--set --hicache-size=300` as one word: argparse would take the flag for an option of this command."""
    found: list[str] = []
    for word in words:
        if found and found[-1] == "--set" and word.startswith("--") and "=" in word:
            found[-1] = f"--set={word}"
        else:
            found.append(word)
    return found


def execute(args: argparse.Namespace, world: World) -> Exit:
    """Gather what is given and what is read, answer, show."""
    from fleetops.fleet.size import exit_code
    from fleetops.render.size import sizes_json, sizes_screen
    from fleetops.store.cache import cache_folder
    from fleetops.store.proofs import Proofs

    output, proofs = world.output(args), Proofs(cache_folder(world.environ))
    if args.nodes or args.profile:
        found = _with_inventory(args, world, output, proofs)
    else:
        found = (_alone(args, world, output, proofs),)
    if output.wants_json:
        output.json(sizes_json(found))
    else:
        output.lines(sizes_screen(found, output.width if output.is_terminal else None))
    return exit_code(found)


def _with_inventory(
    args: argparse.Namespace, world: World, output: "Output", proofs: "Proofs"
) -> "tuple[Sizing, ...]":
    """A profile on nodes; on no node at all where the source and what is available are both given."""
    from fleetops.fleet.size import size_nodes, size_offline
    from fleetops.fleet.size_names import refuse_unread
    from fleetops.render.waiting import waiting
    from fleetops.store.database import Store

    inventory = world.inventory(args)
    profile = _profile(args, inventory)
    given = _given(args, world, open_source(args, world, output), proofs)
    if profile and given.explain and given.available_bytes is not None and not args.nodes:
        refuse_unread(given, (profile,))
        return (size_offline(profile, given),)
    nodes = _nodes(args, inventory)
    refuse_unread(given, [profile] if profile else [inventory.profiles[node.profile] for node in nodes])
    with world.connections(inventory) as sessions, waiting(output) as on_answer:
        return size_nodes(
            sessions,
            inventory,
            nodes,
            profile,
            given,
            records=Store(world.state(inventory, reads=True), output.note),
            proofs=proofs,
            on_answer=on_answer,
        )


def _profile(args: argparse.Namespace, inventory: "Inventory") -> "Profile | None":
    from difflib import get_close_matches

    if args.profile is None:
        return None
    found = inventory.profiles.get(args.profile)
    if found is None:
        near = get_close_matches(args.profile, inventory.profiles, n=1)
        known = ", ".join(inventory.profiles) or "none"
        raise UsageError(
            f"there is no profile {args.profile!r}",
            hint=f"did you mean {near[0]}?" if near else f"profiles in the inventory: {known}",
        )
    if args.engine not in {None, found.engine}:
        raise UsageError(f"profile {found.name} is for {found.engine}, and --engine says {args.engine}")
    return found


def _nodes(args: argparse.Namespace, inventory: "Inventory") -> "list[Node]":
    """Those that were named, else those whose inventory names the profile."""
    from fleetops.inventory import select_hosts
    from fleetops.model.fleet import Node

    if not args.nodes:
        found = [node for node in inventory.nodes.values() if node.profile == args.profile]
        if not found:
            raise UsageError(
                f"no node's inventory names profile {args.profile}",
                hint="name the nodes; or give --source DIR and --available BYTES to ask none",
            )
        return found
    named = [host for host in select_hosts(inventory, args.nodes, of="nodes") if isinstance(host, Node)]
    without = [node.name for node in named if not args.profile and not node.profile]
    if without:
        raise UsageError(f"the inventory names no profile for {', '.join(without)}", hint="--profile P")
    return named


def _alone(args: argparse.Namespace, world: World, output: "Output", proofs: "Proofs") -> "Sizing":
    """Without inventory and profile: every number is an option."""
    from fleetops.fleet.size import size_offline
    from fleetops.fleet.size_names import refuse_unread
    from fleetops.model.fleet import Profile

    missing = [
        words
        for is_there, words in (
            (args.source is not None or args.release is not None, "--source DIR or --release NAME==VERSION"),
            (args.flag, "--flag FLAG"),
            (args.ranks, "--ranks N"),
        )
        if not is_there
    ]
    if missing:
        raise UsageError(
            f"without a profile or a node, size needs {', and '.join(missing)}",
            hint="or name what would be launched: fleetops size --profile P [NODE]",
        )
    tree = open_source(args, world, output)
    engine = tree.package if tree else ""
    nameless = Profile(name="", engine=engine, model="", ranks=args.ranks, port=0)
    given = _given(args, world, tree, proofs)
    refuse_unread(given, (nameless,))
    return size_offline(nameless, given)


def _given(args: argparse.Namespace, world: World, tree: "LocalTree | None", proofs: "Proofs") -> "Given":
    """What the options say."""
    from functools import cache

    from fleetops.fleet.explain import explain_tree, flag_name
    from fleetops.fleet.size_given import Given

    return Given(
        flag=flag_name(args.flag) if args.flag else None,
        settings=_settings(args),
        explain=cache(lambda flag: explain_tree(tree, flag, proofs)) if tree else None,
        config=_config(world, args.model_config),
        draft_config=_config(world, args.draft_config),
        available_bytes=args.available,
        ranks=args.ranks,
        device_tokens=args.device_tokens,
        reserve_bytes=args.reserve,
        floor_bytes=args.floor,
    )


def _settings(args: argparse.Namespace) -> "dict[str, FlagValue]":
    """The flags of `--set`, and those that have options of their own."""
    from fleetops.fleet.explain import flag_name

    own = (("tp_size", args.tp), ("page_size", args.page_size), ("kv_cache_dtype", args.kv_dtype))
    settings: dict[str, FlagValue] = {name: value for name, value in own if value is not None}
    for text in args.settings:
        name, equals, value = text.partition("=")
        if not equals or not value:
            raise UsageError(f"--set {text!r} sets nothing", hint="--set FLAG=VALUE: --set hicache_size=300")
        settings[flag_name(name)] = _typed(value)
    return settings


def _typed(text: str) -> "FlagValue":
    """`true`, `false`, a number, or text."""
    if text.lower() in {"true", "false"}:
        return text.lower() == "true"
    if re.fullmatch(r"[-+]?[0-9]{1,18}", text):
        return int(text)
    return float(text) if re.fullmatch(r"[-+]?[0-9]{1,18}\.[0-9]{1,18}", text) else text


def _config(world: World, path: str | None) -> "dict[str, Any] | None":
    """A config.json of this machine. Raises UsageError where it cannot be read."""
    import json

    if path is None:
        return None
    if not path.strip():
        raise UsageError("the path of a config.json is empty", hint="name a model's config.json")
    place = Path(world.cwd, path)
    place = place / "config.json" if place.is_dir() else place
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"cannot read {place}: {error.strerror}", hint="name a model's config.json"
        ) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{place} is no JSON: {error}", hint="name a model's config.json") from error
    if not isinstance(found, dict):
        raise UsageError(f"{place} holds no JSON object", hint="name a model's config.json")
    return found
