"""Kills the controller of lab recoveries at every point between two effects, and judges what the next recovery makes of it.

`make interruptions`. The points are found by an undisturbed run. Prints the figure (points tried, runs that ended well);
exit 1 where one did not.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT)]

from interruptions.trial import SCENARIOS, Scenario, Trial, points_of, run_trial  # noqa: E402 - the tests' own helpers
from recovery_matrix.bench import Bench, bench  # noqa: E402


def main() -> int:
    """Every point of every scenario that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [one.breakage for one in SCENARIOS]
    parser.add_argument("--breakage", action="append", choices=names, help="only this one; may be repeated")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th point")
    parser.add_argument("--at", metavar="WORD", default="", help="only points that are named so")
    args = parser.parse_args()
    wanted = [one for one in SCENARIOS if one.breakage in (args.breakage or names)]
    began = time.monotonic()
    trials, points = run(wanted, args.every, args.at)
    well = sum(not one.faults for one in trials)
    for one in trials:
        if one.faults:
            print(_told(one))
    print(
        f"{len(trials)} of {points} points tried, {well} ended as an undisturbed run does,"
        f" {time.monotonic() - began:.0f} s"
    )
    return 0 if trials and well == len(trials) else 1


def run(wanted: Sequence[Scenario], every: int, at: str) -> tuple[list[Trial], int]:
    """The trials, and how many points there are. Different nodes beside each other, those of one node in turn."""
    with tempfile.TemporaryDirectory(prefix="fleetops-interruptions-") as folder:
        cwd = Path(folder, "empty")
        cwd.mkdir()
        nodes = list(dict.fromkeys(one.node for one in wanted))
        with bench(Path(folder, "lab"), cwd) as ready, ThreadPoolExecutor(len(nodes)) as beside:
            lanes = [
                beside.submit(
                    _lane, ready, [one for one in wanted if one.node == node], every, at, Path(folder)
                )
                for node in nodes
            ]
            done = [lane.result() for lane in lanes]
    return [trial for trials, _ in done for trial in trials], sum(points for _, points in done)


def _lane(
    ready: Bench, scenarios: Sequence[Scenario], every: int, at: str, folder: Path
) -> tuple[list[Trial], int]:
    trials, points = [], 0
    for scenario in scenarios:
        log = folder / f"{scenario.node}.points"
        log.unlink(missing_ok=True)
        names = points_of(ready, scenario, log)
        points += len(names)
        chosen = [number for number, name in enumerate(names, 1) if at in name][::every]
        for number in chosen:
            trials.append(run_trial(ready, scenario, number, log))
            print(_told(trials[-1]), file=sys.stderr, flush=True)
    return trials, points


def _told(trial: Trial) -> str:
    where = f"{trial.scenario.platform} {trial.scenario.breakage}, point {trial.point} ({trial.what})"
    return f"{where}: {'; '.join(trial.faults) or 'ended well'}"


if __name__ == "__main__":
    sys.exit(main())
