"""Two operators recover the same node, or two nodes of one hypervisor, at the same moment, again and again.

`make contention`. Prints the figure; exit 1 unless in every round exactly one acted, and the other was told who holds it
and since when.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT)]

from contention.contest import CONTESTS, Round, fight, operators  # noqa: E402 - the tests' own helpers come first

from fleetops.lab import api  # noqa: E402
from fleetops.lab.breakages.base import BrokenNode  # noqa: E402


def main() -> int:
    """So many rounds of each contest together."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=200, help="how many in all (default 200)")
    args = parser.parse_args()
    began = time.monotonic()
    done = run(args.rounds)
    held = [one for one in done if not one.faults]
    for contest in CONTESTS:
        of = [one for one in done if one.contest is contest]
        print(f"{contest.title}: {sum(not one.faults for one in of)} of {len(of)} rounds: exactly one acted")
    print(f"{len(held)} of {len(done)} rounds hold, {time.monotonic() - began:.0f} s")
    return 0 if done and len(held) == len(done) else 1


def run(rounds: int) -> list[Round]:
    """Half of them at the one lock, half at the other, in a lab of their own."""
    done: list[Round] = []
    with tempfile.TemporaryDirectory(prefix="fleetops-contention-") as folder:
        cwd = Path(folder, "empty")
        cwd.mkdir()
        lab = api.up(Path(folder, "lab"), bound=True)
        try:
            for node in {node for contest in CONTESTS for node in contest.nodes}:
                BrokenNode(lab.folder, node).clear()
            for number, contest in enumerate(CONTESTS):
                with operators(contest.lock, cwd) as both:
                    for _ in range(rounds // 2 + (rounds % 2 if number == 0 else 0)):
                        done.append(fight(lab.folder, lab.inventory, contest, both))
                        if done[-1].faults:
                            print(
                                f"{contest.title}: {'; '.join(done[-1].faults)}", file=sys.stderr, flush=True
                            )
        finally:
            api.down(lab.folder)
    return done


if __name__ == "__main__":
    sys.exit(main())
