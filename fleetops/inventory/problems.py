"""What is wrong in a file, collected so that a user sees all of it at once, and the words that problems are made of."""

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fleetops.model.errors import FleetopsError
from fleetops.model.exit import Exit


@dataclass(frozen=True, order=True)
class Mark:
    """A place in a file; line and column count from 1, as editors do."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, order=True)
class Problem:
    """One thing that is wrong in a file: where, what with what was expected, and how to mend it."""

    file: str
    line: int
    column: int
    message: str
    hint: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: {self.message}"
        return f"{place} ({self.hint})" if self.hint else place


class DocumentInvalid(FleetopsError):  # noqa: N818 - named for what the user reads
    """A file has problems; nothing was contacted. All of them are in `problems`, in the order of the file."""

    exit_code = Exit.USAGE
    kind = "document-invalid"

    def __init__(self, what: str, problems: tuple[Problem, ...]) -> None:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        lines = "\n".join(f"  {problem}" for problem in problems)
        super().__init__(f"{what} has {count}; no host was contacted\n{lines}")
        self.problems = problems


class Problems:
    """Collects what is wrong, so that all of it is told at once."""

    def __init__(self) -> None:
        self._found: dict[Problem, None] = {}

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Problem]:
        return iter(sorted(self._found))

    def add(self, mark: Mark, message: str, *, hint: str = "") -> None:
        """Note one problem; the same one twice counts once."""
        self._found[Problem(mark.file, mark.line, mark.column, message, hint)] = None

    def raise_if_any(self, what: str, error: type[DocumentInvalid] = DocumentInvalid) -> None:
        """Raise `error` with everything found in `what` (`the inventory`), or return where nothing was."""
        if self._found:
            raise error(what, tuple(self))


def quote(text: str) -> str:
    """A value from a file in a message: on one line, shortened, control characters visible."""
    return f"`{visible(text)}`"


def visible(text: str) -> str:
    """Text from a file, shortened, with every control character spelled out."""
    shown = text if len(text) <= 60 else f"{text[:57]}..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown)


def nearest(word: str, candidates: Iterable[str]) -> str:
    """The candidate that `word` was most likely meant to be, "" where none comes close."""
    by_lower = {candidate.lower(): candidate for candidate in candidates}
    found = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else ""


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """A hint that names the nearest candidate, "" where none comes close."""
    close = nearest(word, candidates)
    return f"did you mean `{close}`?" if close else ""
