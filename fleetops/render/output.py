"""Where results go: data on stdout, everything else on stderr; Rich on a terminal, plain text when piped."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from fleetops.render.plain import safe
from fleetops.render.typed import typed_json

__all__ = ["Output", "safe"]

_PIPED_WIDTH = 160
_UNDECODABLE = re.compile(r"[\ud800-\udfff]+")
# JSON itself spells out no more than what lies below the blank.
_ACTED_ON = re.compile(r"[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class Output:
    """One command's output. Colour only on a terminal without NO_COLOR; piped text is never wrapped to a terminal."""

    def __init__(
        self,
        stdout: TextIO,
        stderr: TextIO,
        *,
        environ: Mapping[str, str] | None = None,
        wants_json: bool = False,
    ) -> None:
        self.wants_json = wants_json
        self._stdout = stdout
        self._out = _console(stdout, environ or {})
        self._err = _console(stderr, environ or {})

    @property
    def is_terminal(self) -> bool:
        """Whether a person is looking at stdout."""
        return self._out.is_terminal

    @property
    def width(self) -> int:
        """Columns to lay out for."""
        return self._out.width

    @property
    def err(self) -> Console:
        """The console for progress and notes."""
        return self._err

    @property
    def live(self) -> Console:
        """The console for what moves: data's own on a terminal, so that lines of data push it down."""
        return self._out if self.is_terminal else self._err

    @property
    def out(self) -> Console:
        """The console for data."""
        return self._out

    def show(self, renderable: RenderableType = "") -> None:
        """Print data for a person. A str is printed as it is: no markup, no highlighting, no wrapping."""
        if isinstance(renderable, str):
            self._out.print(_Verbatim(renderable), crop=False)
        elif self.is_terminal:
            self._out.print(renderable)
        else:
            with self._out.capture() as captured:
                self._out.print(renderable)
            # Rich pads cells to their column's width; nobody wants blanks at the end of a line that is piped on.
            lines = captured.get().split("\n")
            self._stdout.write("\n".join(line.rstrip(" ") for line in lines))

    def lines(self, screen: Text) -> None:
        """Print a screen line by line, none of them wrapped: a wider one is a command, to be copied in one piece."""
        for line in screen.split("\n", allow_blank=True):
            line.rstrip()
            if self.is_terminal:
                self._out.print(line, soft_wrap=True)
            else:
                self.show(line.plain)

    def json(self, body: Mapping[str, Any]) -> None:
        """Print one JSON object. A byte that is no character is spelled out, as it is for a person.

        What a terminal would act on is escaped: the same text to a program, and nothing to a terminal.
        """
        text = json.dumps(typed_json(body), ensure_ascii=False, default=str)
        text = _ACTED_ON.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
        self._stdout.write(_UNDECODABLE.sub(lambda run: safe(run.group()).replace("\\", "\\\\"), text) + "\n")

    def flush(self) -> None:
        """Hand on what was shown: whoever reads along must not wait for the end."""
        self._stdout.flush()

    def note(self, text: str) -> None:
        """Say something beside the data, on stderr."""
        self._err.print(safe(text), markup=False, highlight=False, soft_wrap=True)


class _Verbatim:
    """Text handed on in one piece: Rich would lay out a million lines for a minute. What moves below it stays below."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        yield Segment(f"{self._text}\n")


class _Console(Console):
    """Rich's console; no text that it is given acts on the terminal, whoever forgot to make it `safe`."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Segments whose text is harmless; what moves the cursor is Rich's own, in segments marked as control."""
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(safe(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Rich's own would end the program with status 1 where the reader went away (`| head`)."""
        raise BrokenPipeError


def _piped_width(environ: Mapping[str, str]) -> int:
    """As wide as whoever exports COLUMNS asks for."""
    asked = environ.get("COLUMNS", "")
    return int(asked) if asked.isascii() and asked.isdecimal() and int(asked) > 0 else _PIPED_WIDTH


def _console(stream: TextIO, environ: Mapping[str, str]) -> Console:
    is_terminal = stream.isatty()
    return _Console(
        file=stream,
        force_terminal=is_terminal,
        no_color="NO_COLOR" in environ or None,
        width=None if is_terminal else _piped_width(environ),
        highlight=False,
        emoji=False,
        _environ=environ,
    )
