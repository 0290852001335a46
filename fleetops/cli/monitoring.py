"""`fleetops monitoring`: the alert rules and the dashboard that come with fleetops, for Prometheus and Grafana."""

import argparse

from fleetops.cli.world import World
from fleetops.model.exit import Exit

NAME = "monitoring"
SUMMARY = "print the alert rules for Prometheus, or the dashboard for Grafana; contacts no host"

_FILES = {"rules": "alerts.yaml", "dashboard": "dashboard.json"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Which of them."""
    parser.add_argument(
        "what",
        choices=tuple(_FILES),
        help="rules: a rule file; dashboard: JSON to import (Grafana 10 or newer)",
    )


def execute(args: argparse.Namespace, world: World) -> Exit:
    """As it is, to be redirected into a file."""
    from fleetops.resources import resource_folder

    name = _FILES[args.what]
    text = (resource_folder("monitoring") / name).read_text(encoding="utf-8")
    if args.json:
        world.output(args).json({"schema": "fleetops.monitoring/1", "file": name, "text": text})
    else:
        world.stdout.write(text)
    return Exit.FINE
