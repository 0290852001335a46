"""The options that every command has, for a command's own subcommands."""

import argparse
import re

_ADDRESS = r"(?:\[([0-9a-fA-F:.]+)\]|([a-zA-Z0-9_.-]*)):([0-9]{1,5})"
_LAST_PORT = 65_535
_LOOPBACK = "127.0.0.1"


def add_shared_options(command: argparse.ArgumentParser) -> None:
    """Those of every command, so that they may stand after `runs show` as well as before `show`."""
    where = command.add_mutually_exclusive_group()
    where.add_argument(
        "--inventory",
        metavar="PATH",
        default=argparse.SUPPRESS,
        help="the inventory: a folder, or a fleet.yaml",
    )
    where.add_argument(
        "--lab", action="store_true", default=argparse.SUPPRESS, help="use the embedded lab's inventory"
    )
    command.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="print one JSON object"
    )


def add_hosts(parser: argparse.ArgumentParser) -> None:
    """HOSTS of any kind; all of them where none are named."""
    parser.add_argument(
        "hosts",
        nargs="*",
        metavar="HOSTS",
        default=["*"],
        help="nodes and hypervisors: node-174, pve-*, @group; all when left out",
    )


def duration(text: str) -> float:
    """`90s`, `10m`; a plain number is seconds."""
    from fleetops.inventory.quantity import parse_duration

    try:
        seconds = float(text) if text.replace(".", "", 1).isdecimal() else parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is {error}") from error
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} leaves no time")
    return seconds


def address(text: str) -> tuple[str, int]:
    """Where to listen: `127.0.0.1:9874`, `[::]:9874`, `name:9874`; `:9874` is this machine alone."""
    found = re.fullmatch(_ADDRESS, text)
    if found is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no address like `:9874`, `127.0.0.1:9874` or `[::]:9874`"
        )
    v6, host, port = found.groups()
    if int(port) > _LAST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is no address: {port} is no port")
    return (v6 or host or _LOOPBACK, int(port))
