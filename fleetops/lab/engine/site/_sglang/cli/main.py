"""`sglang serve`, through the script that pip installs."""

import sys

from fleetops.lab.engine.main import run


def main() -> None:
    """Drop the subcommand and start."""
    del sys.argv[1]
    run()
