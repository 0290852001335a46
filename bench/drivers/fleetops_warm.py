"""fleetops over connections that stay: INVENTORY WIDTH WORD... Every line on standard input runs the command once more.

The calls are those of `fleetops run`; several of them in one run share the connections, as a sweep with `--every` does.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.drivers.rounds import answer_rounds
from fleetops.fleet.run import run_on_hosts
from fleetops.inventory import select_hosts
from fleetops.inventory.load import load_inventory
from fleetops.model.command import Command
from fleetops.ssh.connections import Connections


def main(path: str, width: str, *words: str) -> None:
    """All hosts of the inventory, again and again."""
    inventory = load_inventory(Path(path))
    hosts = select_hosts(inventory, ["*"], of="all")
    command = Command(argv=words, deadline_s=30.0, changes=True)
    with Connections(inventory.settings, environ=os.environ) as connections:

        def once() -> Sequence[str]:
            report = run_on_hosts(connections, hosts, command, width=int(width))
            return [outcome.stdout.strip() for _, outcome in report.outcomes if outcome.ok]

        answer_rounds(once)


if __name__ == "__main__":
    main(*sys.argv[1:])
