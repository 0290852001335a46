"""`python3 -m vllm.entrypoints.cli.main serve`, and `vllm serve` through the script that pip installs."""

import sys

from fleetops.lab.vllm.flags import serve_arguments
from fleetops.lab.vllm.main import run


def main() -> None:
    """Drop the subcommand and start."""
    run(serve_arguments(sys.argv[1:]))


if __name__ == "__main__":
    main()
