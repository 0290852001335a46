"""A release's source with edits: nothing is copied, and what the rest mentions is searched once for all variants."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256

from fleetops.source.text import mentions
from fleetops.source.tree import Tree


@dataclass(eq=False)
class EditedTree:
    """A tree in which some files read differently; None for one that is gone."""

    base: Tree
    edits: dict[str, str | None]

    @property
    def package(self) -> str:
        return self.base.package

    @property
    def version(self) -> str:
        return self.base.version

    @cached_property
    def digest(self) -> str:
        """Not the one that a folder would have; different for every edit, which is what it is for."""
        edited = "".join(f"{path}\0{text}\0" for path, text in sorted(self.edits.items()))
        return sha256((self.base.digest + edited).encode()).hexdigest()

    def mentioning(self, name: str) -> tuple[str, ...]:
        untouched = {path for path in self.base.mentioning(name) if path not in self.edits}
        edited = {path for path, text in self.edits.items() if text and mentions(text.encode(), name)}
        return tuple(sorted(untouched | edited))

    def text(self, file: str) -> str:
        if file not in self.edits:
            return self.base.text(file)
        text = self.edits[file]
        if text is None:
            raise KeyError(file)
        return text

    def sha256(self, file: str) -> str:
        return sha256(self.text(file).encode()).hexdigest() if file in self.edits else self.base.sha256(file)


@dataclass(eq=False)
class Patch:
    """A tree being edited. Every edit fails where it changes nothing: a patch that misses would prove nothing."""

    base: Tree
    edits: dict[str, str | None] = field(default_factory=dict)

    @property
    def tree(self) -> EditedTree:
        return EditedTree(self.base, self.edits)

    def text(self, file: str) -> str:
        return self.tree.text(file)

    def replace(self, file: str, old: str, new: str, *, times: int = 1) -> None:
        """Put `new` in the place of `old`, which has to be there exactly that often."""
        text = self.text(file)
        assert text.count(old) == times, f"{file} has {old!r} {text.count(old)} times, not {times}"
        self.edits[file] = text.replace(old, new)

    def before(self, file: str, line: str, new: str) -> None:
        """Insert lines before the one that is `line` but for its indentation, with that indentation."""
        self._insert(file, line, lambda indent, found: f"{_indented(new, indent)}{found}")

    def after(self, file: str, line: str, new: str) -> None:
        """Insert lines after it."""
        self._insert(file, line, lambda indent, found: f"{found}{_indented(new, indent)}")

    def word(self, file: str, old: str, new: str) -> None:
        """Rename an identifier throughout one file."""
        text = self.text(file)
        self.edits[file] = re.sub(rf"\b{re.escape(old)}\b", new, text)
        assert self.edits[file] != text, f"{file} has no {old}"

    def everywhere(self, old: str, new: str) -> None:
        """Rename an identifier in every file that has it."""
        files = self.tree.mentioning(old)
        assert files, f"nothing has {old}"
        for file in files:
            self.word(file, old, new)

    def add(self, file: str, text: str) -> None:
        """A file that was not there."""
        assert file not in self.edits, f"{file} is there already"
        self.edits[file] = text

    def append(self, file: str, text: str) -> None:
        """At a file's end."""
        self.edits[file] = f"{self.text(file)}\n{text}"

    def move(self, old: str, new: str) -> None:
        """Give a file another name, and let every import of it follow."""
        self.add(new, self.text(old))
        self.edits[old] = None
        self.everywhere(_module(old), _module(new))

    def _insert(self, file: str, line: str, merge: Callable[[str, str], str]) -> None:
        lines = self.text(file).splitlines(keepends=True)
        places = [number for number, one in enumerate(lines) if one.strip() == line]
        assert len(places) == 1, f"{file} has the line {line!r} {len(places)} times"
        found = lines[places[0]]
        lines[places[0]] = merge(found[: len(found) - len(found.lstrip())], found)
        self.edits[file] = "".join(lines)


def _indented(text: str, indent: str) -> str:
    return "".join(f"{indent}{line}\n" for line in text.splitlines())


def _module(file: str) -> str:
    return file.rsplit("/", 1)[-1].removesuffix(".py")
