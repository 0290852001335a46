"""The story of recorded runs, as it is shown: whole screens, piped and on terminals of two widths.

A screen that is meant to change is written anew by `fleetops runs show ID` on the recorded journal.
"""

import json
from pathlib import Path

import pytest

RECORDED = Path(__file__).parent / "recorded"
CASES = ("healed", "refused", "interrupted", "older")


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("shown", "columns"), [("piped", 160), ("terminal-80", 80), ("terminal-120", 120)])
def test_the_screen_of_a_recorded_run(runs, case, shown, columns):
    screen = runs.screen(runs.recorded(case), columns=columns, is_terminal=shown != "piped")
    assert screen == (RECORDED / case / f"{shown}.txt").read_text()


@pytest.mark.parametrize("case", CASES)
def test_what_is_laid_out_keeps_to_the_terminal(runs, case):
    """What is longer is a command or a path, to be copied in one piece."""
    screen = runs.screen(runs.recorded(case), columns=80, is_terminal=True)
    long = [line for line in screen.splitlines() if len(line) > 80]
    assert all("fleetops runs show" in line or "/" in line or "when idle" in line for line in long), long


@pytest.mark.parametrize("case", CASES)
def test_json_holds_what_the_screen_tells(runs, case):
    run_id = runs.recorded(case)
    body, screen = runs.call("show", run_id, "--json").json, runs.screen(run_id)
    assert body["schema"] == "fleetops.run/1"
    assert body["run_id"] == run_id
    assert body["status"] in screen
    for step in body["steps"]:
        assert step["title"] in screen
        for change in step["changes"]:
            assert change["why"] in screen
            assert change["argv"]


def test_a_run_that_was_cut_off_is_told_as_that(runs):
    run_id = runs.recorded("interrupted")
    body = runs.call("show", run_id, "--json").json
    assert body["status"] == "unfinished"
    [change] = [change for step in body["steps"] for change in step["changes"]]
    assert (change["outcome"], change["seconds"]) == ("unknown", None)
    screen = runs.screen(run_id)
    assert "it is not known whether this was done: ask it to stop on node-190" in screen
    assert (
        "last thing written down, 5 s after its start: that stop-service is about to change node-190"
        in screen
    )
    assert "\n  fleetops recover node-190\n" in screen


def test_a_run_that_was_taken_over_names_the_one_that_went_on(runs):
    run_id = runs.recorded("interrupted")
    begin = {
        "at": 1796072559.0,
        "event": "begin",
        "playbook": "recover",
        "node": "node-190",
        "continues": run_id,
    }
    end = {"at": 1796072595.0, "event": "end", "status": "done", "why": ""}
    later = runs.made("20261130-210239-node-190-eab4b2", [begin, end])
    screen = runs.screen(run_id)
    assert screen.splitlines()[1].startswith("  taken-over after 5 s")
    assert f"run {later} went on from it: done" in screen
    assert f"\n  fleetops runs show {later}\n" in screen
    assert f"it went on from run {run_id}" in runs.screen(later)


def test_wherever_a_journal_breaks_off_it_is_told_and_never_as_done(runs):
    lines = (RECORDED / "healed" / "journal.jsonl").read_text().splitlines()
    for count in range(1, len(lines)):
        run_id = runs.made("20261130-205536-node-174-aaaaaa", [json.loads(line) for line in lines[:count]])
        screen = runs.screen(run_id)
        assert screen.splitlines()[1].startswith("  unfinished after"), screen
        is_open = '"event": "intent"' in lines[count - 1]
        assert ("it is not known whether this was done" in screen) == is_open
        runs.remove(run_id)


def test_any_event_may_lack_any_field(runs):
    """Journals of other releases: nothing but the kind of an event and its time is taken for granted."""
    lines = (RECORDED / "healed" / "journal.jsonl").read_text().splitlines()
    bare = [{"at": event["at"], "event": event["event"]} for event in map(json.loads, lines)]
    screen = runs.screen(runs.made("20261130-205536-node-174-bbbbbb", bare))
    assert "not recorded: the journal is of an older release" in screen


def test_a_run_that_is_running_says_what_is_under_way(runs):
    from dataclasses import asdict

    from fleetops.playbook.lock import Owner

    run_id = "20261130-205536-node-174-cccccc"
    here = asdict(Owner.this_process(run_id))
    runs.made(
        run_id,
        [
            {"at": 1.0, "event": "begin", "playbook": "recover", "node": "node-174", "by": here},
            {"at": 2.0, "event": "step", "step": "stop-service"},
            {
                "at": 3.0,
                "event": "intent",
                "step": "stop-service",
                "why": "ask it to stop",
                "host": "node-174",
                "argv": ["kill", "5"],
            },
        ],
    )
    screen = runs.screen(run_id)
    assert screen.splitlines()[1].startswith("  running (pid ")
    assert "stop service   under way" in screen
    assert "ask it to stop on node-174" in screen
    assert "not known" not in screen


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        ({"status": 0, "stdout": "x"}, ("done", "")),
        ({"status": 5, "stderr": "a\nno such process\n"}, ("failed", "status 5: no such process")),
        ({"status": None, "timed_out": True}, ("no answer", "no answer within its deadline")),
        ({"lost": "node-174: the connection broke"}, ("lost", "node-174: the connection broke")),
        ({"status": 0, "again": 0}, ("done", "")),
        (
            {"status": 0, "again": 1},
            ("done", "made again once: the connection broke before it had begun"),
        ),
        (
            {"status": 5, "stderr": "no such process", "again": 2},
            (
                "failed",
                "made again 2 times: the connection broke before it had begun; status 5: no such process",
            ),
        ),
    ],
)
def test_how_a_change_came_out(runs, outcome, told):
    events = [
        {"at": 1.0, "event": "begin", "playbook": "kill", "node": "node-174"},
        {"at": 2.0, "event": "step", "step": "stop-service"},
        {
            "at": 3.0,
            "event": "intent",
            "step": "stop-service",
            "why": "end it",
            "host": "node-174",
            "argv": ["kill"],
        },
        {"at": 5.0, "event": "outcome", "step": "stop-service", **outcome},
    ]
    run_id = runs.made("20261130-205536-node-174-dddddd", events)
    [change] = runs.call("show", run_id, "--json").json["steps"][0]["changes"]
    assert (change["outcome"], change["said"]) == told
    assert change["seconds"] == 2.0
    assert told[0] in runs.screen(run_id)


def test_terminal_escapes_of_a_host_are_not_shown_raw(runs):
    events = [
        {
            "at": 1.0,
            "event": "begin",
            "playbook": "kill\x1b[31m",
            "node": "node-174",
            "waived": {"size": "\x1b]0;x\x07"},
        },
        {"at": 2.0, "event": "step", "step": "stop\x1b[2J"},
        {"at": 3.0, "event": "step-end", "step": "stop\x1b[2J", "status": "failed", "detail": "\x1b[2Jgone"},
        {"at": 4.0, "event": "end", "status": "failed", "why": "\x1b[2Jgone", "hint": "\x1b[2Jx"},
    ]
    run_id = runs.made("20261130-205536-node-174-eeeeee", events)
    for is_terminal in (False, True):
        said = runs.call("show", run_id, is_terminal=is_terminal)
        assert said.code == 0
        assert "\x1b" not in said.stdout
