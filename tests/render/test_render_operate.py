"""A run's lines on a terminal: what is long wraps in its own column; piped, each stays one line."""

import io

import pytest

from fleetops.model.command import Command, shell
from fleetops.model.event import StepEnded
from fleetops.model.plan import Action, Plan, PlannedStep
from fleetops.model.record import ReclaimRow, Result
from fleetops.render.operate import RunScreen, show_plan, show_result
from fleetops.render.output import Output

DETAIL = "pid 3188, in a session of its own, log /var/log/fleetops/hicache-auto-20261130-141922-node-174-b9cb97.log"
WHY = "hicache300 died: the memory guard ended it: MemAvailable fell to 15.6 GB, below the floor of 16 GB; what was started is ended"


class Stream(io.StringIO):
    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


def screen(stream: Stream, columns: str = "80") -> Output:
    return Output(stream, io.StringIO(), environ={"NO_COLOR": "1", "COLUMNS": columns, "TERM": "dumb"})


def ended() -> StepEnded:
    return StepEnded(
        number=5, step="start-service", title="start hicache-auto", status="done", seconds=6.0, detail=DETAIL
    )


def test_a_long_line_of_a_step_wraps_in_its_column() -> None:
    stream = Stream(terminal=True)
    RunScreen(screen(stream))._show(ended())
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("   5  start hicache-auto         done       6.0 s   pid 3188,")
    column = lines[0].index("pid")
    assert all(line[:column].isspace() for line in lines[1:])
    # A path is never cut: it is there to be copied.
    assert DETAIL.rsplit(maxsplit=1)[-1] in {line.strip() for line in lines}


@pytest.mark.parametrize("columns", ["80", "160"])
def test_piped_it_is_one_line(columns: str) -> None:
    stream = Stream(terminal=False)
    RunScreen(screen(stream, columns))._show(ended())
    assert stream.getvalue().count("\n") == 1
    assert stream.getvalue().endswith(f"{DETAIL}\n")


def test_why_a_run_failed_wraps_below_its_first_word_and_is_one_line_when_piped() -> None:
    result = Result(run_id="run", node="node-174", status="failed", why=WHY)
    stream = Stream(terminal=True)
    show_result(screen(stream), result)
    lines = stream.getvalue().splitlines()
    assert lines[1].startswith("  failed: hicache300 died")
    assert lines[2].startswith("  ")
    assert max(map(len, lines[1:3])) <= 80
    piped = Stream(terminal=False)
    show_result(screen(piped), result)
    assert f"  failed: {WHY}" in piped.getvalue().splitlines()


def test_an_arithmetic_keeps_its_lines() -> None:
    why = "hicache300 is not launched:\n  hicache_size   8 x 300 GB   2,400 GB"
    stream = Stream(terminal=True)
    show_result(screen(stream), Result(run_id="run", node="node-174", status="refused", why=why))
    assert "  hicache_size   8 x 300 GB   2,400 GB" in stream.getvalue().splitlines()


def test_below_the_table_stands_where_the_idle_figure_comes_from() -> None:
    row = ReclaimRow(
        name="MemAvailable", fact="host-memory", before="10 GB", after="444 GB", idle="445 GB", ok=True,
        note="as idle peer node-175 (recorded 2026-11-20), within 9 GB; none was recorded here",
    )  # fmt: skip
    stream = Stream(terminal=False)
    show_result(screen(stream), Result(run_id="run", node="node-174", status="done", reclaimed=(row,)))
    lines = stream.getvalue().splitlines()
    assert f"  MemAvailable when idle: {row.note}" in lines
    assert lines.index(f"  MemAvailable when idle: {row.note}") > next(
        at for at, line in enumerate(lines) if line.endswith("ok")
    )


HELPER = shell("one\ntwo", "7", "x" * 100, name="fleetops-helper", changes=True)
PLAN = Plan(
    playbook="kill",
    node="node-174",
    profile="",
    steps=(
        PlannedStep(
            step="stop-service",
            title="stop the service",
            actions=(
                Action(host="node-174", command=HELPER, why=""),
                Action(host="node-174", command=Command(argv=("echo", "y" * 100, "a\nb")), why=""),
                Action(host="pve-01", command=HELPER, why=""),
            ),
        ),
    ),
)


def planned(*, terminal: bool, scripts: bool) -> list[str]:
    stream = Stream(terminal=terminal)
    show_plan(screen(stream), PLAN, (), exact=True, scripts=scripts)
    return stream.getvalue().splitlines()


def test_a_dry_run_has_one_line_for_each_action_and_names_its_helpers() -> None:
    lines = planned(terminal=False, scripts=False)
    assert [line for line in lines if "$ " in line] == [
        f"   1  node-174$ fleetops-helper 7 {'x' * 100}",
        f"   1  node-174$ echo {'y' * 100} 'a\\nb'",
        f"   1  pve-01$ fleetops-helper 7 {'x' * 100}",
    ]
    assert lines[-1] == "  fleetops-* are scripts of its own: --scripts shows them"
    assert not {"    one", "    two"} & set(lines)


def test_the_scripts_are_shown_once_where_they_are_asked_for() -> None:
    lines = planned(terminal=False, scripts=True)
    assert lines[-3:] == [
        "  fleetops-helper is: sh -c '...' fleetops-helper ARGUMENTS, with",
        "    one",
        "    two",
    ]
    assert lines.count("    one") == 1


def test_on_a_terminal_a_helpers_line_is_one_and_what_can_be_copied_is_whole() -> None:
    lines = planned(terminal=True, scripts=False)
    (helper,) = [line for line in lines if line.startswith("   1  pve-01$ ")]
    assert (len(helper), helper[-2:]) == (80, "x…")
    assert f"   1  node-174$ echo {'y' * 100} 'a\\nb'" in lines
