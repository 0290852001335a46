"""A thousand sweeps in a row of the embedded lab, and what they leave behind: `make soak`.

Prints memory, threads and descriptors of the sweeping process as they went, and the processes on every host of the lab
before and after. Exit 1 where something grew.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT)]

from command_line import CommandLine  # noqa: E402 - the tests' own helpers
from fresh_lab import fresh_lab  # noqa: E402
from soak import Held, soak  # noqa: E402

from fleetops.inventory.load import load_inventory  # noqa: E402
from fleetops.model.command import Command  # noqa: E402
from fleetops.model.fleet import Inventory  # noqa: E402
from fleetops.ssh.connections import Connections  # noqa: E402

MB = 1_000_000
# From then on nothing may grow; before, caches fill.
_SETTLED = 0.1
_MORE_BYTES = 8 * MB


def main() -> int:
    """The figures, and whether they hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sweeps", type=int, default=1000, metavar="N")
    args = parser.parse_args()
    each = max(1, args.sweeps // 20)
    with tempfile.TemporaryDirectory(prefix="soak-") as folder, fresh_lab(Path(folder) / "lab") as lab:
        inventory = load_inventory(lab.inventory)
        before = _processes(inventory)
        began = time.monotonic()
        held = []
        for one in soak(CommandLine(lab.inventory, Path(folder)), args.sweeps, each=each):
            held.append(one)
            print(_line(one), flush=True)
        seconds = time.monotonic() - began
        time.sleep(2)
        after = _processes(inventory)
    return _judge(held, before, after, seconds)


def _line(one: Held) -> str:
    return (
        f"{one.sweeps:6} sweeps   {one.rss_bytes / MB:6.1f} MB   {one.threads:3} threads   "
        f"{one.descriptors:3} descriptors   {one.seconds:.2f} s"
    )


def _processes(inventory: Inventory) -> dict[str, int]:
    """How many each host of the lab has."""
    hosts = [*inventory.nodes.values(), *inventory.hypervisors.values()]
    count = Command(argv=("sh", "-c", "ls -d /proc/[0-9]* | wc -l"))
    with Connections(inventory.settings, environ={"HOME": str(ROOT)}) as connections:
        return {host.name: int(connections.session(host).run(count).stdout) for host in hosts}


def _judge(held: list[Held], before: dict[str, int], after: dict[str, int], seconds: float) -> int:
    early = held[max(0, int(len(held) * _SETTLED) - 1)]
    late, tail = held[-1], held[held.index(early) :]
    faults = []
    if late.rss_bytes - early.rss_bytes > _MORE_BYTES:
        faults.append(f"memory grew by {(late.rss_bytes - early.rss_bytes) / MB:.1f} MB")
    if max(one.threads for one in tail) > early.threads + 2:
        faults.append("threads grew")
    if max(one.descriptors for one in tail) > early.descriptors + 2:
        faults.append("descriptors grew")
    faults += [
        f"{name} has {after[name]} processes, had {count}"
        for name, count in before.items()
        if after[name] > count
    ]
    print(
        f"{late.sweeps} sweeps in {seconds:.0f} s: memory {early.rss_bytes / MB:.1f} -> {late.rss_bytes / MB:.1f} MB,"
        f" threads {early.threads} -> {late.threads}, descriptors {early.descriptors} -> {late.descriptors},"
        f" processes on the hosts {sum(before.values())} -> {sum(after.values())}"
    )
    for fault in faults:
        print(f"  {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
