"""Which run is meant: enough of its id, and clear words where it is not."""

import pytest

BEGIN = {"at": 1796072414.0, "event": "begin", "playbook": "kill", "node": "node-190"}
END = {"at": 1796072419.0, "event": "end", "status": "done", "why": ""}
FIRST, SECOND = "20261130-205931-node-190-2c6fa1", "20261130-210013-node-190-7a9dba"


@pytest.fixture
def two(runs):
    for run_id in (FIRST, SECOND):
        runs.made(run_id, [BEGIN, END])
    return runs


@pytest.mark.parametrize("given", [SECOND, "7a9dba", "9dba", "20261130-21", "190-7a9dba"])
def test_the_id_or_an_end_or_a_beginning_that_no_other_has(two, given):
    assert two.call("show", given, "--json").json["run_id"] == SECOND


def test_what_several_have_lists_them(two):
    said = two.call("show", "20261130")
    assert said.code == 2
    assert "names 2 runs" in said.stderr
    assert said.stderr.index(SECOND) < said.stderr.index(FIRST)


@pytest.mark.parametrize(
    ("given", "near"), [("7a9dbb", SECOND), ("node-190", SECOND), (FIRST[:-1] + "7", FIRST)]
)
def test_an_unknown_one_is_an_error_that_names_the_nearest(two, given, near):
    said = two.call("show", given)
    assert (said.code, said.stdout) == (2, "")
    assert f"there is no run '{given}'" in said.stderr
    assert near in said.stderr


def test_a_whole_id_is_that_run_even_where_another_ends_like_it(runs):
    runs.made("a-run", [BEGIN, END])
    runs.made("not-a-run", [BEGIN, END])
    assert runs.call("show", "a-run", "--json").json["run_id"] == "a-run"


def test_where_nothing_was_done_yet_that_is_said(runs):
    said = runs.call("show", "7a9dba")
    assert said.code == 2
    assert "nothing was done from here yet" in said.stderr


def test_a_path_is_no_id(two):
    said = two.call("show", f"../runs/{FIRST}")
    assert said.code == 2
    assert "there is no run" in said.stderr


def test_a_journal_that_is_none_is_passed_over(two):
    for name, text in (("x-1", "5\n"), ("x-2", '{"no": "event"}\n'), ("x-3", ""), ("x-4", "\0\0")):
        two.of(name).mkdir()
        (two.of(name) / "journal.jsonl").write_text(text)
    assert [run["run_id"] for run in two.call("--json").json["runs"]] == [SECOND, FIRST]
