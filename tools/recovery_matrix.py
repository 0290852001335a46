"""Breaks a lab's nodes in every way on every platform, recovers them, and writes docs/recovery-matrix.md.

`make recovery-matrix`. Exit 1 when a cell does not hold; the expectations are tests/support/recovery_matrix/expected.py.
"""

import argparse
import datetime as dt
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT)]

from recovery_matrix.bench import Bench, bench  # noqa: E402 - the tests' own helpers come first
from recovery_matrix.cell import Cell, run_cell  # noqa: E402
from recovery_matrix.expected import PLATFORMS, cells  # noqa: E402
from recovery_matrix.page import COLUMNS, ending, in_order, page, row  # noqa: E402

from fleetops.render.table import columns  # noqa: E402

PAGE = ROOT / "docs/recovery-matrix.md"


def main() -> int:
    """Run what was asked for; the page is written when that is everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--platform", action="append", choices=PLATFORMS, help="only this one; may be repeated"
    )
    parser.add_argument("--breakage", action="append", help="only this one; may be repeated")
    parser.add_argument(
        "--page", type=Path, default=PAGE, help="where to write the page when all cells were run"
    )
    args = parser.parse_args()
    wanted = [
        (platform, breakage)
        for platform, breakage in cells()
        if platform in (args.platform or PLATFORMS) and breakage in (args.breakage or [breakage])
    ]
    began = time.monotonic()
    done = in_order(run(wanted))
    print(columns([COLUMNS, *map(row, done)]))
    held = sum(not one.faults for one in done)
    print(f"{held} of {len(done)} cells hold, {time.monotonic() - began:.0f} s")
    if len(wanted) == len(cells()):
        args.page.write_text(page(done, dt.datetime.now(dt.UTC).date()))
    return 0 if held == len(done) else 1


def run(wanted: Sequence[tuple[str, str]]) -> list[Cell]:
    """The platforms beside each other, each one's breakages in turn."""
    with tempfile.TemporaryDirectory(prefix="fleetops-matrix-") as folder:
        lab, cwd = Path(folder, "lab"), Path(folder, "empty")
        cwd.mkdir()
        with bench(lab, cwd) as ready, ThreadPoolExecutor(len(PLATFORMS)) as beside:
            lanes = [beside.submit(_lane, ready, platform, wanted) for platform in PLATFORMS]
            return [cell for lane in lanes for cell in lane.result()]


def _lane(ready: Bench, platform: str, wanted: Sequence[tuple[str, str]]) -> list[Cell]:
    done = []
    for where, breakage in wanted:
        if where == platform:
            done.append(run_cell(ready, platform, breakage))
            print(_progress(done[-1]), file=sys.stderr, flush=True)
    return done


def _progress(cell: Cell) -> str:
    faults = f"  DOES NOT HOLD: {'; '.join(cell.faults)}" if cell.faults else ""
    if cell.faults:
        faults += "".join(f"\n      {line}" for line in cell.story)
    return f"{cell.platform:5} {cell.breakage:20} {cell.seconds:5.1f} s  {ending(cell)}{faults}"


if __name__ == "__main__":
    sys.exit(main())
