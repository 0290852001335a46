"""How long an inventory takes to resolve a host pattern once it is loaded: INVENTORY PATTERN. Prints JSON."""

import json
import sys
import time
from pathlib import Path

from fleetops.inventory import select_hosts
from fleetops.inventory.load import load_inventory

_REPEATS = 25


def main(path: str, pattern: str) -> None:
    """The median of its times (ms), and how many hosts it selects."""
    inventory = load_inventory(Path(path))
    took_ms = []
    for _ in range(_REPEATS):
        began = time.perf_counter()
        hosts = select_hosts(inventory, [pattern])
        took_ms.append((time.perf_counter() - began) * 1000)
    print(json.dumps({"ms": sorted(took_ms)[_REPEATS // 2], "hosts": len(hosts)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
