"""One engine package's source as the tracer sees it: names that are looked up, texts, and what they hash to."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Protocol


class Tree(Protocol):
    """An engine package's source. Paths are relative to the package's folder (`srt/server_args.py`), with slashes."""

    @property
    def package(self) -> str:
        """Its import name (`sglang`)."""

    @property
    def version(self) -> str:
        """Its release; "" where nothing tells."""

    @property
    def digest(self) -> str:
        """sha256 of all its .py files, as `tree_digest` has it."""

    def mentioning(self, name: str) -> tuple[str, ...]:
        """The .py files whose text has this identifier as a whole word, sorted."""

    def text(self, file: str) -> str:
        """A file's text. Raises KeyError for one that is not there (or has not travelled yet)."""

    def sha256(self, file: str) -> str:
        """Of the file's bytes, hex. Raises KeyError."""


def tree_digest(files: Iterable[tuple[str, str]]) -> str:
    """One sha256 for a whole tree: over the lines `path NUL sha256`, sorted by the path's bytes."""
    lines = sorted((path.encode("utf-8", "surrogateescape"), digest) for path, digest in files)
    return sha256(b"".join(path + b"\0" + digest.encode() + b"\n" for path, digest in lines)).hexdigest()


@dataclass
class PartialTree:
    """What has travelled from a node so far. A name that was never asked for is noted, and nothing mentions it yet.

    Attributes:
        files: path -> text.
        hashes: path -> sha256 of the file's bytes.
        mentions: name -> the files that mention it, for every name that was asked for on the node.
    """

    package: str
    version: str
    digest: str
    files: dict[str, str] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    mentions: dict[str, tuple[str, ...]] = field(default_factory=dict)
    wanted: set[str] = field(default_factory=set)

    def mentioning(self, name: str) -> tuple[str, ...]:
        """The files that are known to mention it; asking is what makes them travel."""
        if name not in self.mentions:
            self.wanted.add(name)
            return ()
        return self.mentions[name]

    def text(self, file: str) -> str:
        """Raises KeyError for what has not travelled."""
        return self.files[file]

    def sha256(self, file: str) -> str:
        """Raises KeyError for what has not travelled."""
        return self.hashes[file]


@dataclass(frozen=True)
class TextTree:
    """A tree that is held in memory."""

    package: str
    version: str
    files: Mapping[str, str]

    @cached_property
    def digest(self) -> str:
        """As `tree_digest` has it."""
        return tree_digest((path, self.sha256(path)) for path in self.files)

    def mentioning(self, name: str) -> tuple[str, ...]:
        """By a search of every text."""
        word = re.compile(rf"\b{re.escape(name)}\b")
        return tuple(sorted(path for path, text in self.files.items() if name in text and word.search(text)))

    def text(self, file: str) -> str:
        """Raises KeyError."""
        return self.files[file]

    def sha256(self, file: str) -> str:
        """Raises KeyError."""
        return sha256(self.files[file].encode("utf-8", "surrogateescape")).hexdigest()
