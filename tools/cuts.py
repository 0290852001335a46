"""Cuts the SSH connection of lab recoveries around every command that changes something, and judges what comes of it.

`make cuts`. The commands are found by an undisturbed run; each is cut before it starts, before its input has arrived, while
it runs and after its end. A run may end well, or stop and say what is not known and what to do; the next one must end as an
undisturbed one does, with nothing made twice. Prints the figure; exit 1 where one did not.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT)]

from cuts.cutter import Moment  # noqa: E402 - the tests' own helpers
from cuts.servers import front  # noqa: E402
from cuts.trial import Cut, points_of, run_trial  # noqa: E402
from interruptions.trial import SCENARIOS, Scenario  # noqa: E402
from recovery_matrix.bench import Bench, bench  # noqa: E402

Choose = Callable[[Sequence[str]], list[tuple[int, Moment]]]


def main() -> int:
    """Every cut of every scenario that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [one.breakage for one in SCENARIOS]
    parser.add_argument("--breakage", action="append", choices=names, help="only this one; may be repeated")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th cut")
    parser.add_argument("--at", metavar="WORD", default="", help="only changes that are named so")
    parser.add_argument("--moment", choices=[one.name.lower() for one in Moment], help="only this moment")
    args = parser.parse_args()
    wanted = [one for one in SCENARIOS if one.breakage in (args.breakage or names)]
    moments = [one for one in Moment if args.moment in {None, one.name.lower()}]
    began = time.monotonic()

    def choose(names: Sequence[str]) -> list[tuple[int, Moment]]:
        numbers = [number for number, name in enumerate(names, 1) if args.at in name]
        return [(number, moment) for number in numbers for moment in moments][:: args.every]

    trials, cuts = run(wanted, choose)
    well = sum(not one.faults for one in trials)
    for one in trials:
        if one.faults:
            print(_described(one))
    print(f"{len(trials)} of {cuts} cuts tried, {well} ended well, {time.monotonic() - began:.0f} s")
    return 0 if trials and well == len(trials) else 1


def run(wanted: Sequence[Scenario], choose: Choose) -> tuple[list[Cut], int]:
    """The trials, and how many cuts there are. Different nodes beside each other, those of one node in turn."""
    with tempfile.TemporaryDirectory(prefix="fleetops-cuts-") as folder:
        cwd = Path(folder, "empty")
        cwd.mkdir()
        nodes = list(dict.fromkeys(one.node for one in wanted))
        with bench(Path(folder, "lab"), cwd) as ready, ThreadPoolExecutor(len(nodes)) as beside:
            own = {node: [one for one in wanted if one.node == node] for node in nodes}
            lanes = [beside.submit(_lane, ready, own[node], choose, Path(folder, node)) for node in nodes]
            done = [lane.result() for lane in lanes]
    return [trial for trials, _ in done for trial in trials], sum(cuts for _, cuts in done)


def _lane(ready: Bench, scenarios: Sequence[Scenario], choose: Choose, folder: Path) -> tuple[list[Cut], int]:
    trials, cuts = [], 0
    with front(ready.lab, folder) as before:
        for scenario in scenarios:
            names = points_of(ready, before, scenario)
            cuts += len(names) * len(Moment)
            for number, moment in choose(names):
                trials.append(run_trial(ready, before, scenario, number, moment))
                print(_described(trials[-1]), file=sys.stderr, flush=True)
    return trials, cuts


def _described(one: Cut) -> str:
    ended = "; ".join(one.faults) or f"ended well{f', after {one.told}' if one.told else ''}"
    return f"{one.scenario.platform} {one.scenario.breakage}, {one.what}, {one.moment}: {ended}"


if __name__ == "__main__":
    sys.exit(main())
