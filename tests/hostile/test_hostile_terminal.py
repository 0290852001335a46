"""What a host prints never reaches the operator's terminal raw: no escape, no bell, no turned text, by any command."""

import io
import json

import pytest
from hostile_server import says, truly_but
from hostile_terminal import OWN, on_a_terminal, piped
from hostile_text import ESCAPES, RAW
from rich.text import Text

from fleetops.render.output import Output
from fleetops.render.plain import safe
from fleetops.render.table import columns, folded

EVIL = "\n".join(("plain", *ESCAPES, "half a line")).encode()


def everywhere(text: bytes) -> bytes:
    """Nothing of the real answer is left."""
    return EVIL + b"\n" if text else b""


def at_line_ends(text: bytes) -> bytes:
    """Each line goes on with what a terminal would act on."""
    lines = text.split(b"\n")
    evil = [escape.encode() for escape in ESCAPES]
    return b"\n".join(line + evil[place % len(evil)] if line else line for place, line in enumerate(lines))


def inside_values(text: bytes) -> bytes:
    """Names of processes, hosts and files are made of it; the form stays whole."""
    for place, mark in enumerate((b" (", b"=", b"hostname ", b"cmdline:", b" /", b'": "')):
        text = text.replace(mark, mark + ESCAPES[place].encode())
    return text


def assert_harmless(written: str) -> None:
    for escape in ESCAPES:
        assert escape not in written
    assert not RAW.search(written), repr(RAW.findall(written)[:5])


COMMANDS = {
    "run": ("run", "node-1", "--shell", "cat x"),
    "run-failing": ("run", "node-1", "--shell", "cat x; false"),
    "grep-source": ("grep-source", "x", "node-1"),
    "probe": ("probe", "node-1"),
    "kill": ("kill", "node-1", "--dry-run"),
    "recover": ("recover", "node-1", "--dry-run"),
    "explain": ("explain", "hicache_size", "node-1"),
}
# Those that show what a host said even where it is of no form that they know.
QUOTES = ("run", "run-failing", "probe")


@pytest.mark.parametrize("name", COMMANDS)
def test_escapes_in_every_answer_are_made_visible(against, name):
    fleetops = against(says(EVIL, EVIL, status=1 if name == "run-failing" else 0))
    told = piped(fleetops, *COMMANDS[name], "--json")
    screen = on_a_terminal(fleetops, *COMMANDS[name])
    assert told.status == screen.status
    assert screen.status in {0, 1, 3, 5}
    for written in (told.written, screen.without_colours):
        assert_harmless(written)
    assert "PWNED" in screen.without_colours or name not in QUOTES


@pytest.mark.parametrize(
    ("name", "poison"),
    [("probe", everywhere), ("probe", at_line_ends), ("probe", inside_values), ("recover", inside_values)],
    ids=lambda one: getattr(one, "__name__", one),
)
def test_escapes_within_facts_are_made_visible(against, name, poison):
    fleetops = against(truly_but(poison))
    plain, told = (piped(fleetops, *COMMANDS[name], *more) for more in ((), ("--json",)))
    assert plain.status in {0, 1, 3, 5}
    for written in (plain.written, told.written):
        assert "defect" not in written
        assert_harmless(written)
    assert "PWNED" in told.written + plain.written or name == "recover" or poison is everywhere


def test_an_error_of_the_login_shell_is_made_visible(against):
    fleetops = against(lambda call: (call.channel.sendall_stderr(EVIL), call.end(1)))
    plain = piped(fleetops, "run", "node-1", "--", "true")
    assert plain.status == 3, plain.written
    assert "runs no commands" in plain.written
    assert not RAW.search(plain.written)


@pytest.mark.parametrize("escape", ESCAPES)
def test_safe_text_keeps_its_words_and_loses_every_control(escape):
    assert "PWNED" in safe(escape) or "UFdORUQ" in safe(escape)
    assert not RAW.search(safe(escape))


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
@pytest.mark.parametrize("escape", ESCAPES)
def test_no_road_to_the_screen_lets_an_escape_through(stream, escape):
    """Whoever shows something may have forgotten to make it harmless."""
    out, err = stream(), stream()
    output = Output(out, err)
    output.show(escape)
    output.show(Text(f"a{escape}", style="bold"))
    output.show(columns([("HEAD", "X"), (escape, "y")]))
    output.show(folded([("x", Text(escape).plain)]))
    output.lines(Text(f"one\n{escape}"))
    output.note(escape)
    output.out.print(Text(escape), soft_wrap=True)
    with output.err.status(Text(escape)):
        pass
    for written in (out.getvalue(), err.getvalue()):
        assert escape not in written
        assert not RAW.search(OWN.sub("", written))
    assert "PWNED" in out.getvalue() or "UFdORUQ" in out.getvalue()


@pytest.mark.parametrize("escape", ESCAPES)
def test_json_is_harmless_and_the_same_to_a_program(escape):
    out = Terminal()
    Output(out, out, wants_json=True).json({"text": escape})
    assert not RAW.search(out.getvalue())
    assert json.loads(out.getvalue()) == {"text": escape}
