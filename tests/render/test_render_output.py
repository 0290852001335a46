"""Showing text: as it is, in one piece, beside what moves on a terminal."""

import io
import json
import time

import pytest

from fleetops.render.output import Output
from fleetops.render.table import folded


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_text_is_shown_as_it_is(stream: type[io.StringIO]) -> None:
    out = stream()
    text = "[bold]\tx[/bold] :smile: " + "long " * 100
    Output(out, io.StringIO(), environ={"TERM": "xterm"}).show(text)
    assert out.getvalue() == f"{text}\n"


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_a_million_lines_are_shown_in_seconds(stream: type[io.StringIO]) -> None:
    out, text = stream(), "line\n" * 1_000_000
    began = time.monotonic()
    Output(out, io.StringIO(), environ={"TERM": "xterm"}).show(text)
    assert time.monotonic() - began < 5
    assert out.getvalue() == f"{text}\n"


def test_a_moving_line_stays_below_what_is_shown() -> None:
    out = Terminal()
    output = Output(out, io.StringIO(), environ={"TERM": "xterm"})
    with output.live.status("waiting"):
        output.show("one")
        output.show("two")
    between = out.getvalue().partition("one\n")[2].partition("two\n")[0]
    assert "waiting" in between
    assert between.endswith("\x1b[2K")  # wiped before the next line of data


def test_json_spells_out_bytes_that_are_no_characters() -> None:
    out = io.StringIO()
    Output(out, io.StringIO(), wants_json=True).json({"stdout": "caf\udce9 é \\ \ud800"})
    assert json.loads(out.getvalue()) == {"stdout": "caf\\xe9 é \\ \\ud800"}


@pytest.mark.parametrize(("columns", "width"), [("100", 100), ("", 160), ("x", 160), ("0", 160)])
def test_piped_it_is_laid_out_for_the_columns_that_are_exported(columns: str, width: int) -> None:
    assert Output(io.StringIO(), io.StringIO(), environ={"COLUMNS": columns}).width == width


def test_a_table_on_a_terminal_goes_on_in_its_last_column() -> None:
    out = Terminal()
    rows = [("breakage", "what it is"), ("orphans", "word " * 30)]
    Output(out, io.StringIO(), environ={"TERM": "dumb", "COLUMNS": "80"}).show(folded(rows))
    head, *lines = out.getvalue().splitlines()
    column = head.index("what it is")
    assert lines[0].startswith("orphans ")
    assert len(lines) > 2
    assert all(line[:column].isspace() and not line[column].isspace() for line in lines[1:])
    assert max(map(len, lines)) <= 80
