"""The options that every command has, for a command's own subcommands."""

import argparse


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
