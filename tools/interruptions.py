"""Kills the controller of lab recoveries at every point between two effects, and judges what the next recovery makes of it.

`make interruptions`. The points are found by an undisturbed run. Prints the figure (points tried, runs that ended well);
exit 1 where one did not.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT)]

from command_line import CommandLine  # noqa: E402 - the tests' own helpers
from interruptions.trial import SCENARIOS, Scenario, Trial, points_of, run_trial  # noqa: E402
from recovery_matrix.bench import Bench, Impatient, bench  # noqa: E402


def main() -> int:
    """Every point of every scenario that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [one.breakage for one in SCENARIOS]
    parser.add_argument("--breakage", action="append", choices=names, help="only this one; may be repeated")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every N-th point")
    parser.add_argument(
        "--elsewhere",
        action="store_true",
        help="the next recovery comes from another controller, which has no journal of the first",
    )
    parser.add_argument("--at", metavar="WORD", default="", help="only points that are named so")
    args = parser.parse_args()
    wanted = [one for one in SCENARIOS if one.breakage in (args.breakage or names)]
    began = time.monotonic()
    trials, points = run(wanted, lambda names: chosen(names, args.every, args.at), elsewhere=args.elsewhere)
    well = sum(not one.faults for one in trials)
    for one in trials:
        if one.faults:
            print(_told(one))
    print(
        f"{len(trials)} of {points} points tried, {well} ended as an undisturbed run does,"
        f" {time.monotonic() - began:.0f} s"
    )
    return 0 if trials and well == len(trials) else 1


def chosen(names: Sequence[str], every: int, at: str) -> list[int]:
    """The numbers of the points to try: every N-th of those that are named so."""
    return [number for number, name in enumerate(names, 1) if at in name][::every]


def run(
    wanted: Sequence[Scenario], choose: Callable[[Sequence[str]], list[int]], *, elsewhere: bool
) -> tuple[list[Trial], int]:
    """The trials, and how many points there are. Different nodes beside each other, those of one node in turn."""
    with tempfile.TemporaryDirectory(prefix="fleetops-interruptions-") as folder:
        cwd = Path(folder, "empty")
        cwd.mkdir()
        nodes = list(dict.fromkeys(one.node for one in wanted))
        with bench(Path(folder, "lab"), cwd) as ready, ThreadPoolExecutor(len(nodes)) as beside:
            other = _another_controller(ready, Path(folder)) if elsewhere else None
            lanes = [
                beside.submit(
                    _lane, ready, [one for one in wanted if one.node == node], choose, Path(folder), other
                )
                for node in nodes
            ]
            done = [lane.result() for lane in lanes]
    return [trial for trials, _ in done for trial in trials], sum(points for _, points in done)


def _lane(
    ready: Bench,
    scenarios: Sequence[Scenario],
    choose: Callable[[Sequence[str]], list[int]],
    folder: Path,
    other: CommandLine | None,
) -> tuple[list[Trial], int]:
    trials, points = [], 0
    for scenario in scenarios:
        log = folder / f"{scenario.node}.points"
        log.unlink(missing_ok=True)
        names = points_of(ready, scenario, log)
        points += len(names)
        for number in choose(names):
            trials.append(run_trial(ready, scenario, number, log, other))
            print(_told(trials[-1]), file=sys.stderr, flush=True)
    return trials, points


def _another_controller(ready: Bench, folder: Path) -> CommandLine:
    """The same inventory with a state folder of its own."""
    inventory = folder / "elsewhere"
    shutil.copytree(ready.lab.inventory, inventory)
    for path in inventory.glob("*.yaml"):
        lines = path.read_text(encoding="utf-8").splitlines()
        kept = [f"  state: {folder / 'state'}" if line.startswith("  state:") else line for line in lines]
        path.write_text("\n".join(kept) + "\n", encoding="utf-8")
    return Impatient(inventory, ready.fleetops.cwd)


def _told(trial: Trial) -> str:
    where = f"{trial.scenario.platform} {trial.scenario.breakage}, point {trial.point} ({trial.what})"
    return f"{where}: {'; '.join(trial.faults) or 'ended well'}"


if __name__ == "__main__":
    sys.exit(main())
