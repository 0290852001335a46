"""An engine package's source in a folder of this machine: found, hashed, and searched for the names being followed."""

import os
import re
from collections.abc import Iterator
from functools import cached_property
from hashlib import file_digest, sha256
from mmap import ACCESS_READ, mmap
from pathlib import Path

from fleetops.model.errors import UsageError
from fleetops.source.packages import Package, package, packages
from fleetops.source.text import GIANT_BYTES, decode, mentions, word, words
from fleetops.source.tree import tree_digest

_LITERAL = re.compile(r"""^(?:__version__|version)\b[^\n]*= *["']([^"'\n]+)["']""", re.MULTILINE)
_METADATA = re.compile(r"^Version: *(\S+)", re.MULTILINE)
_VERSION_FILES = ("_version.py", "version.py", "__init__.py")
_VERSION_BYTES = 2**16
_SEARCHES = 3


class LocalTree:
    """The .py files below a package's folder. Links are followed, as Python follows them; loops of links are not.

    Attributes:
        package: its import name; version: its release, "" where nothing tells.
        folder: the package's own.
        gaps: what could not be read, each with the reason.
    """

    def __init__(self, folder: Path, package: str, version: str = "") -> None:
        self.folder = folder
        self.package = package
        self.version = version
        self._found: dict[str, tuple[str, ...]] = {}
        self._giants: dict[str, str] = {}
        self._gaps: list[str] = []

    @property
    def gaps(self) -> tuple[str, ...]:
        """Complete once a tree has been asked for everything else."""
        _ = self._contents
        return tuple(dict.fromkeys(self._gaps))

    @cached_property
    def _contents(self) -> dict[str, bytes]:
        """Path -> bytes, all of it: reading a tree takes a moment, and every name is looked for in every file."""
        contents = {}
        for path, place in _python_files(self.folder, self._gaps):
            try:
                with open(place, "rb", opener=_without_waiting) as file:
                    if os.fstat(file.fileno()).st_size > GIANT_BYTES:
                        self._giants[path] = file_digest(file, "sha256").hexdigest()
                    else:
                        contents[path] = data = file.read()
                        if b"\0" in data:
                            self._gaps.append(f"{path} is no Python source (it holds a NUL byte)")
            except OSError as error:
                self._gaps.append(f"{path}: {error.strerror}")
        return contents

    @cached_property
    def _hashes(self) -> dict[str, str]:
        return {path: sha256(data).hexdigest() for path, data in self._contents.items()} | self._giants

    @cached_property
    def digest(self) -> str:
        """sha256 of all its .py files that can be read, as `tree_digest` has it."""
        return tree_digest(self._hashes.items())

    def __len__(self) -> int:
        return len(self._contents)

    def mentioning(self, name: str) -> tuple[str, ...]:
        """The files whose text has this identifier as a whole word, sorted, without what the package leaves out.

        A giant that has it becomes a gap.
        """
        if name not in self._found:
            self._found[name] = tuple(sorted(self._mentioning(name)))
            giants = (path for path in self._giants if _giant_mentions(self.folder / path, name))
            self._gaps += [f"{path} mentions {name} and is too large to be read" for path in giants]
        return self._found[name]

    def _mentioning(self, name: str) -> Iterator[str]:
        """By a search of every file for the first names, then in an index, which costs as much as a few of them."""
        if len(self._found) < _SEARCHES:
            return (path for path, data in self._searched.items() if mentions(data, name))
        sought = name.encode()
        return (path for path, found in self._words.items() if sought in found)

    @cached_property
    def _searched(self) -> dict[str, bytes]:
        """Without other programs' folders, a third of some packages: nothing in them is followed."""
        known = next((one for one in packages() if one.name == self.package), None)
        return {path: data for path, data in self._contents.items() if not (known and known.leaves_out(path))}

    @cached_property
    def _words(self) -> dict[str, frozenset[bytes]]:
        return {path: words(data) for path, data in self._searched.items()}

    def text(self, file: str) -> str:
        """A file's text. Raises KeyError."""
        return decode(self._contents[file])

    def sha256(self, file: str) -> str:
        """Of the file's bytes, hex. Raises KeyError."""
        return self._hashes[file]


def _giant_mentions(place: Path, name: str) -> bool:
    try:
        with place.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as data:
            return word(name).search(data) is not None
    except (OSError, ValueError):  # it has become another since: then it may well do so
        return True


def _without_waiting(path: str, flags: int) -> int:
    """A pipe that took a file's place meanwhile does not block."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _python_files(folder: Path, gaps: list[str]) -> Iterator[tuple[str, str]]:
    """Every .py file below `folder`: its path relative to it, and where it is. What cannot be listed joins `gaps`."""
    todo: list[tuple[str, str, tuple[tuple[int, int], ...]]] = [("", str(folder), ())]
    while todo:
        prefix, place, above = todo.pop()
        try:
            status = os.stat(place)  # noqa: PTH116 - as below: thousands of files
            here = (status.st_dev, status.st_ino)
            entries = [] if here in above else list(os.scandir(place))
        except OSError as error:
            gaps.append(f"{prefix or place}: {error.strerror}")
            continue
        for entry in entries:
            try:
                if entry.is_dir():
                    todo.append((f"{prefix}{entry.name}/", entry.path, (*above, here)))
                elif entry.name.endswith(".py") and entry.is_file():
                    yield f"{prefix}{entry.name}", entry.path
                elif entry.name.endswith(".py") and entry.is_symlink():
                    gaps.append(f"{prefix}{entry.name} leads nowhere")
            except OSError:  # a link to itself
                continue


def open_tree(folder: Path, engine: str | None = None) -> LocalTree:
    """The package in `folder`: its own folder, its parent, a checkout above it, or an unpacked wheel.

    Args:
        folder: what was named.
        engine: which package is meant, where several are known.

    Raises:
        UsageError: there is none, or more than one.
    """
    if not folder.is_dir():
        raise UsageError(
            f"there is no folder {folder}", hint="name the engine's package folder or its parent"
        )
    wanted = (package(engine),) if engine else packages()
    found = {one.name: place for one in wanted if (place := _place(folder, one.name))}
    found = {name: place for name, place in found.items() if place == folder} or found
    if len(found) > 1:
        raise UsageError(
            f"{folder} holds several packages: {', '.join(found)}",
            hint="say which is meant with --engine NAME",
        )
    if not found:
        raise _nothing(folder, wanted, engine)
    ((name, place),) = found.items()
    return LocalTree(place, name, _version(place, name))


def _place(folder: Path, name: str) -> Path | None:
    """Where the package lies: here, below, or in a checkout's `python/`."""
    own = (folder,) if name in {folder.name, folder.resolve().name} else ()
    places = (*own, folder / name, folder / "python" / name)
    return next((place for place in places if _is_package(place)), None)


def _is_package(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("__init__.py", "version.py"))


def _nothing(folder: Path, wanted: tuple[Package, ...], engine: str | None) -> UsageError:
    names = ", ".join(one.name for one in wanted)
    if engine and _is_package(folder):
        return UsageError(
            f"{folder} is a package, and not named {engine}",
            hint=f"name it {engine}, as Python would import it",
        )
    return UsageError(
        f"no engine's package in {folder}: looked for {names} there, below it and in its python/",
        hint="DIR is the package's folder (.../site-packages/sglang), its parent, a checkout, or an unpacked wheel",
    )


def _version(folder: Path, name: str) -> str:
    """The installation's own record where it is unambiguous, else what the package itself says."""
    records = sorted(folder.parent.glob(f"{name}-*.dist-info/METADATA"))
    installed = [found[1] for path in records if (found := _METADATA.search(_head(path)))]
    literals = [found[1] for file in _VERSION_FILES if (found := _LITERAL.search(_head(folder / file)))]
    if len(installed) == 1 or not literals:
        return installed[-1] if installed else ""
    return literals[0]


def _head(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_VERSION_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
