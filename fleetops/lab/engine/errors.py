"""How the engine fails: errors of its own, printed as the traceback that the real one prints."""

from collections.abc import Sequence
from pathlib import Path

Frame = tuple[str, str, str]


class EngineError(Exception):
    """Something that ends the engine.

    Attributes:
        kind: the exception's name as the engine prints it.
        text: its message.
        frames: where it is raised, outermost first: file below the package, function, line of code.
    """

    def __init__(self, kind: str, text: str, frames: Sequence[Frame] = ()) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind
        self.text = text
        self.frames = tuple(frames)


def traceback(error: EngineError, package: Path) -> str:
    """The text of its traceback, with the line numbers of the source that lies on the node."""
    lines = ["Traceback (most recent call last):"]
    for name, function, code in error.frames:
        path = package / name
        lines += [f'  File "{path}", line {_line(path, code)}, in {function}', f"    {code}"]
    return "\n".join([*lines, f"{error.kind}: {error.text}", ""])


def _line(path: Path, code: str) -> int:
    """Where that line of code stands; 1 where it does not."""
    if not path.is_file():
        return 1
    numbers = (n for n, line in enumerate(path.read_text().splitlines(), 1) if line.strip() == code)
    return next(numbers, 1)
