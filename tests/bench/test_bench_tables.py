"""How results look, on a page and in the record."""

import json

import pytest

from bench import record
from bench.judging import Target, Verdict
from bench.model import PieceResult, Row, Sample
from bench.page import page
from bench.tables import remarks, result_rows, verdict_rows

TARGET = Target(what="one command", pieces=("cold-64",), row="fleetops", against=("clush",), limit=1 / 3)


def sample(wall_s, **more):
    return Sample(wall_s=wall_s, cpu_s=0.64, hosts=64, answered=64, **more)


@pytest.fixture
def found():
    rows = (
        Row(name="fleetops", version="0.1.0", samples={0: sample(1.0), 1: sample(2.0), 2: sample(3.0)}),
        Row(
            name="clush",
            version="1.9",
            samples={0: sample(4.0), 1: sample(8.0), 2: sample(12.0)},
            note="as shipped",
        ),
        Row(name="pssh", install="apt-get install pssh"),
    )
    return PieceResult(
        name="cold-64",
        title="64 hosts, cold",
        columns=("wall_s", "times", "cpu_ms_host", "peak_mb"),
        rows=rows,
        notes=("a note of the piece",),
        machine={"date": "2026-12-01", "cores": 2},
    )


def test_rows_of_a_result(found):
    heading, ours, theirs, absent = result_rows(found)
    assert heading == ("", "release", "rounds", "wall s", "x first", "CPU ms/host", "peak MB")
    assert ours == ("fleetops", "0.1.0", "3", "2.000", "1.00", "10.0", "-")
    assert theirs == ("clush", "1.9", "3", "8.000", "4.00", "10.0", "-")
    assert absent == ("pssh", "", "-", "-", "-", "-", "-")


def test_who_has_no_figures_is_told_below(found):
    assert remarks(found) == [
        "pssh: not installed: apt-get install pssh",
        "clush: as shipped",
        "a note of the piece",
    ]


def test_a_verdict_names_what_it_was_compared_with():
    one = Verdict(target=TARGET, piece="cold-64", measured=0.25, against="clush")
    assert verdict_rows([one])[1] == ("one command", "cold-64", "clush", "0.25 x", "at most 0.333 x", "holds")


def test_the_page_has_verdicts_and_a_table_for_each_piece(found):
    lines = page(
        [found], [Verdict(target=TARGET, piece="cold-64", measured=0.5, against="clush")]
    ).splitlines()
    assert "0 of 1 targets that could be judged hold." in lines
    assert "| one command | cold-64 | clush | 0.5 x | at most 0.333 x | missed by 50% |" in lines
    assert "## 64 hosts, cold" in lines
    assert "|  | release | rounds | wall s | x first | CPU ms/host | peak MB |" in lines
    assert "| --- | --- | ---: | ---: | ---: | ---: | ---: |" in lines
    assert "| fleetops | 0.1.0 | 3 | 2.000 | 1.00 | 10.0 | - |" in lines
    assert "- pssh: not installed: apt-get install pssh" in lines


def test_what_a_program_said_does_not_break_the_page():
    bad = Row(name="a", samples={0: Sample(wall_s=1.0, cpu_s=1.0, fault="exit 1 (a | b <c>)")})
    text = page([PieceResult(name="cold", title="t", columns=("wall_s",), rows=(bad,))], [])
    assert "exit 1 (a \\| b \\<c\\>)" in text


def test_a_piece_that_was_not_run_says_why():
    text = page([PieceResult(name="grep-64", title="t", columns=(), skipped="there is no source")], [])
    assert "`grep-64`: not run, there is no source." in text


def test_pieces_are_recorded_one_by_one(tmp_path, found):
    other = PieceResult(name="warm-64", title="64 hosts, warm", columns=("wall_s",))
    record.write(tmp_path, [other], ["cold-64", "warm-64"])
    record.write(tmp_path, [found], ["cold-64", "warm-64"])
    body = json.loads((tmp_path / "benchmark.json").read_text())
    assert body["schema"] == "fleetops.benchmark/1"
    assert [piece["name"] for piece in body["pieces"]] == ["cold-64", "warm-64"]
    assert record.read(tmp_path / "benchmark.json") == {"cold-64": found, "warm-64": other}
    assert "## 64 hosts, warm" in (tmp_path / "benchmark.md").read_text()


def test_a_piece_that_could_not_be_run_replaces_no_figures(found):
    skipped = PieceResult(name="cold-64", title="t", columns=(), skipped="there is no sshd")
    assert record.merged({"cold-64": found}, [skipped], ["cold-64"]) == [found]
    assert record.merged({}, [skipped], ["cold-64"]) == [skipped]


def test_a_file_of_another_form_is_not_overwritten(tmp_path, found):
    (tmp_path / "benchmark.json").write_text('{"schema": "another/1"}')
    with pytest.raises(ValueError, match=r"is no fleetops\.benchmark/1"):
        record.write(tmp_path, [found], ["cold-64"])
