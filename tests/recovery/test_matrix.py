"""Platform x breakage: each cell is healed by the right rung, or refused for the right reason.

`make recovery-matrix` runs them all; a few that tell much for their time run every time.
"""

import datetime as dt
from collections.abc import Iterator

import pytest
from recovery_matrix.bench import Bench, bench
from recovery_matrix.cell import Cell, run_cell
from recovery_matrix.expected import TABLE, cells, expected
from recovery_matrix.page import page, row

from fleetops.lab.breakages import all_breakages
from fleetops.lab.privilege import LabUnavailable

OFTEN = {
    ("lxc", "guest-locked"),
    ("bare", "respawning"),
    ("bare", "port-held"),
}


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    try:
        with bench(tmp_path_factory.mktemp("matrix") / "lab", tmp_path_factory.mktemp("empty")) as found:
            yield found
    except LabUnavailable as error:
        pytest.skip(f"the lab cannot run here: {error.message}")


@pytest.mark.lab
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("platform", "breakage"),
    [
        pytest.param(*one, id="-".join(one), marks=[] if one in OFTEN else [pytest.mark.matrix])
        for one in cells()
    ],
)
def test_the_cell_holds(ready: Bench, platform: str, breakage: str) -> None:
    cell = run_cell(ready, platform, breakage)
    assert not cell.faults, cell


def test_every_cell_has_an_expectation_and_every_expectation_a_cell() -> None:
    assert {one.name for one in all_breakages()} == {name.partition("/")[0] for name in TABLE}
    assert set(cells()) >= OFTEN
    for platform, breakage in cells():
        wanted = expected(breakage, platform)
        assert wanted.status == 0 or not wanted.relaunch or wanted.status == 4
        assert (wanted.status == 5) == bool(wanted.guard)


def test_a_page_shows_what_does_not_hold() -> None:
    good = Cell("vm", "shm", ("leftovers",), status=0, rungs=(2,), verified=["all 7 rows back"])
    bad = Cell(
        "lxc", "shm", unknown=1, status=4, why="it went wrong", faults=["probe does not name leftovers"]
    )
    text = page([good, bad], dt.date(2026, 11, 30))
    assert "Made on 2026-11-30: 1 of 2 cells hold." in text
    assert "| vm | leftovers | healed by rung 2 | all 7 rows back |" in text
    assert (
        "| lxc | nothing; 1 unknown | failed, exit 4 | **does not hold**: probe does not name leftovers |"
        in text
    )
    assert row(good)[-1] == "holds"
