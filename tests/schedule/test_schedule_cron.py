"""A crontab's lines as text: when, what, and that nothing but its own block is ever another."""

import re
import subprocess
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from fleetops.fleet.scheduling.cron import Kept, block, block_in, cron_line, is_due, when, with_block
from fleetops.fleet.scheduling.crontab import next_minute
from fleetops.model.errors import FleetopsError, UsageError
from fleetops.model.schedule import Schedule

NAME = "fleetops-sweep-inventory-3fa9c1"
SCHEDULE = Schedule(
    name=NAME,
    inventory="/srv/fleet",
    argv=("/usr/bin/python3", "-P", "-m", "fleetops", "sweep", "node-*"),
    environment={"HOME": "/home/ada"},
    every_s=300.0,
    deadline_s=60.0,
    state="/home/ada/state",
)
KEPT = Kept("/home/ada/state/schedule", NAME)
OTHERS = "MAILTO=ada\n# fleetops fleetops-sweep-other-000000 begin\n* * * * * x\n# fleetops fleetops-sweep-other-000000 end\n"


@pytest.mark.parametrize(
    ("every_s", "fields"),
    [
        (60, "* * * * *"),
        (300, "*/5 * * * *"),
        (1800, "*/30 * * * *"),
        (3600, "0 * * * *"),
        (7200, "0 */2 * * *"),
        (86_400, "0 0 * * *"),
    ],
)
def test_how_often(every_s, fields):
    assert when(every_s) == fields


@pytest.mark.parametrize(
    ("every_s", "nearest"), [(420, "6m"), (5, "1m"), (90, "1m"), (5 * 3600, "4h"), (10 * 86_400, "24h")]
)
def test_what_crons_beat_cannot_be_is_refused_with_the_nearest(every_s, nearest):
    with pytest.raises(UsageError) as refused:
        when(every_s)
    assert refused.value.hint == f"fleetops schedule install --every {nearest}"
    assert when({"m": 60, "h": 3600}[nearest[-1]] * int(nearest[:-1]))


@pytest.mark.parametrize("every_s", [60, 300, 3600, 7200, 86_400])
def test_what_is_due_comes_as_often_in_a_day(every_s):
    due = [at for at in range(24 * 60) if is_due(when(every_s), at % 60, at // 60)]
    assert len(due) == 86_400 // every_s


def test_the_next_minute_is_after_now_and_within_the_time_between_two():
    now = time.mktime((2026, 12, 1, 14, 2, 29, 0, 0, -1))
    assert time.localtime(next_minute("*/5 * * * * x", now))[3:6] == (14, 5, 0)
    assert time.localtime(next_minute("* * * * * x", now))[3:6] == (14, 3, 0)
    assert time.localtime(next_minute("0 */6 * * * x", now))[3:6] == (18, 0, 0)
    assert next_minute("@daily x", now) is None
    assert next_minute("5,6 1 * * * x", now) is None


def test_a_percent_sign_is_no_newline_to_cron():
    line = cron_line(replace(SCHEDULE, argv=("/bin/x", "100%")), KEPT, "flock")
    assert re.findall(r".?%", line) == ["\\%"]


def test_what_no_line_can_hold_is_refused():
    with pytest.raises(UsageError, match="newline"):
        cron_line(replace(SCHEDULE, argv=("/bin/x", "a\n* * * * * evil")), KEPT, "flock")
    with pytest.raises(UsageError, match="cron takes 998"):
        cron_line(replace(SCHEDULE, argv=("/bin/x", *("node-1",) * 200)), KEPT, "flock")


def run_line(line, **environ):
    """As cron runs it."""
    command = line.split(" ", 5)[5].replace("\\%", "%")
    return subprocess.run(
        ["sh", "-c", command],
        env={"PATH": "/usr/bin:/bin", **environ},
        capture_output=True,
        check=False,
        timeout=30,
    )


def kept_in(folder, *argv):
    """A line that runs this."""
    kept = Kept(str(folder), NAME)
    return kept, cron_line(replace(SCHEDULE, argv=argv, environment={"HOME": "/a b"}), kept, "flock")


def test_a_run_leaves_what_it_said_and_how_it_ended_for_its_owner_alone(tmp_path):
    folder = tmp_path / "my $folder's %"
    folder.mkdir()
    kept, line = kept_in(folder, "sh", "-c", 'echo "$HOME said"; echo so >&2; exit 3')
    done = run_line(line)
    assert (done.stdout, done.stderr) == (b"", b"")
    assert (folder / f"{NAME}.out").read_text() == "/a b said\nso\n"
    assert (folder / f"{NAME}.status").read_text() == "3\n"
    assert {file.name for file in folder.iterdir()} == {path.rpartition("/")[2] for path in kept.files}
    assert all(file.stat().st_mode & 0o077 == 0 for file in folder.iterdir())


def test_two_runs_never_overlap(tmp_path):
    _, slow = kept_in(tmp_path, "sh", "-c", "echo begun; read _ < gate")
    subprocess.run(["mkfifo", tmp_path / "gate"], check=True)
    command = slow.split(" ", 5)[5]
    with subprocess.Popen(["sh", "-c", command], env={"PATH": "/usr/bin:/bin"}) as first:
        deadline = time.monotonic() + 20
        while (
            not (tmp_path / f"{NAME}.out").exists() or "begun" not in (tmp_path / f"{NAME}.out").read_text()
        ):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        _, second = kept_in(tmp_path, "sh", "-c", "echo never")
        assert run_line(second).returncode == 0
        assert "never" not in (tmp_path / f"{NAME}.out").read_text()
        (tmp_path / "gate").write_text("go\n")
        first.wait(20)
    assert (tmp_path / f"{NAME}.status").read_text() == "0\n"
    assert run_line(second).returncode == 0
    assert "never" in (tmp_path / f"{NAME}.out").read_text()


def test_its_block_goes_to_the_end_and_again_to_where_it_was():
    mine = block(SCHEDULE, KEPT, "flock")
    put = with_block(OTHERS, NAME, mine)
    assert put == OTHERS + mine
    assert block_in(put, NAME) == mine
    later = f"{put}# after\n"
    changed = block(replace(SCHEDULE, every_s=600.0), KEPT, "flock")
    assert with_block(later, NAME, changed) == f"{OTHERS}{changed}# after\n"
    assert with_block(later, NAME, "") == f"{OTHERS}# after\n"


@settings(deadline=None)
@given(some.text(some.characters(blacklist_characters="\0"), max_size=200))
def test_everything_else_stays_byte_for_byte(before):
    whole = before if not before or before.endswith("\n") else f"{before}\n"  # cron takes no other
    put = with_block(before, NAME, block(SCHEDULE, KEPT, "flock"))
    assert with_block(put, NAME, "") == whole


@pytest.mark.parametrize(
    "lines",
    [
        ("# fleetops NAME begin",),
        ("# fleetops NAME end",),
        ("# fleetops NAME end", "# fleetops NAME begin"),
        ("# fleetops NAME begin", "# fleetops NAME begin", "# fleetops NAME end"),
    ],
)
def test_marks_that_are_not_one_pair_are_left_alone(lines):
    crontab = "\n".join(lines).replace("NAME", NAME) + "\n"
    with pytest.raises(FleetopsError, match="not one pair"):
        with_block(crontab, NAME, block(SCHEDULE, KEPT, "flock"))


def test_anothers_block_is_not_taken_for_its_own():
    assert block_in(OTHERS, NAME) == ""
    assert with_block(OTHERS, NAME, "") == OTHERS
