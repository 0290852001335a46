"""Showing text: as it is, in one piece, beside what moves on a terminal."""

import io
import json
import time

import pytest

from fleetops.render.output import Output


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
