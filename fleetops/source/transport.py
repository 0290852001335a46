"""Reading an engine's source on a node: what it hashes to, and of its files only those that mention what is followed.

Pure: whoever calls hands in `ask`, which runs a command on the node.
"""

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from fleetops.model.command import Command, Outcome
from fleetops.model.errors import FleetopsError
from fleetops.model.proof import Explanation
from fleetops.source import trace
from fleetops.source.packages import Package
from fleetops.source.text import decode, words
from fleetops.source.transport_answers import (
    SourceDigest,
    digest_command,
    fetch_command,
    parse_digest,
    parse_fetch,
)
from fleetops.source.tree import PartialTree

Seen = TypeVar("Seen")
Ask = Callable[[Command], Outcome]
Files = dict[str, bytes]
"""Contents that have travelled already, from whichever node: sha256 in hex -> bytes."""

_ROUNDS = 100
# How much alike names must be to be meant: with a typing mistake, of another family, of the same.
_SAME, _ALIKE, _KIN = 0.9, 0.7, 0.5
_CHANGED = "the source changed while it was read, twice; read it again when nobody installs there"


class ProofCache(Protocol):
    """Proofs that were made before."""

    def get(self, package: str, flag: str, digest: str) -> Explanation | None:
        """The proof of a flag in the source with this digest."""

    def put(self, explanation: Explanation) -> None:
        """Keep it, for the source that it names."""


def explain_remotely(
    ask: Ask,
    folder: str,
    package: Package,
    flag: str,
    *,
    version: str,
    cache: ProofCache,
    files: Files | None = None,
    before: SourceDigest | None = None,
) -> Explanation:
    """What `flag` means in the package's `folder` on a node, in a few round trips; in two where it was proven before.

    Args:
        ask: runs a command on the node.
        folder: the package's own.
        package: which it is.
        flag: with underscores.
        version: as it was found there; no part of any proof.
        cache: proofs that were made before.
        files: contents that have travelled before; what travels now is added.
        before: the tree's digest where it has just been read.

    Raises:
        FleetopsError: the node cannot be asked, or does not answer in the form that is asked for.
    """
    reading = _Reading(ask, folder, {} if files is None else files)
    now = before or read_digest(ask, folder)
    for _ in range(2):
        found = cache.get(package.name, flag, now.digest)
        if found is not None and not now.gaps:
            return replace(found, version=version)
        tree = PartialTree(package=package.name, version=version, digest=now.digest)
        explained = replace(reading.explain(tree, package, flag), tree_sha256=now.digest)
        after = read_digest(ask, folder)
        if after.digest == now.digest:
            gaps = (*now.gaps, *reading.gaps)
            if not gaps:
                cache.put(explained)
            return with_gaps(explained, gaps)
        now = after
    return replace(explained, verdict="unproven", unproven_because=_CHANGED, tree_sha256=now.digest)


@dataclass
class _Reading:
    """One package's folder on a node while it is read. `gaps`: what mentions a wanted name and could not be read."""

    ask: Ask
    folder: str
    contents: Files
    gaps: list[str] = field(default_factory=list)
    _words: dict[str, frozenset[bytes]] = field(default_factory=dict)

    def explain(self, tree: PartialTree, package: Package, flag: str) -> Explanation:
        """What it means once nothing more is wanted."""
        self.gaps.clear()
        self._words.clear()
        explained = self._settled(tree, lambda: trace.explain(flag, tree, package))
        if explained.verdict != "no-such-flag":
            return explained
        return with_nearest(explained, self._settled(tree, lambda: trace.declared_flags(tree, package, flag)))

    def _settled(self, tree: PartialTree, look: Callable[[], Seen]) -> Seen:
        """What is seen in the tree; what it wants travels, and it is looked at again."""
        for _ in range(_ROUNDS):
            seen = look()
            if not tree.wanted:
                return seen
            self._fetch(tree)
        raise FleetopsError(f"the trail through {self.folder} does not end after {_ROUNDS} rounds")

    def _fetch(self, tree: PartialTree) -> None:
        names = tuple(sorted(tree.wanted))
        fetched = parse_fetch(self.ask(fetch_command(self.folder, names, tuple(self.contents))), self.folder)
        self.contents |= fetched.contents
        there = {
            path: self.contents[digest] for path, digest in fetched.sums.items() if digest in self.contents
        }
        self.gaps += [fetched.odd] if fetched.odd else []
        self.gaps += [f"{path} changed meanwhile" for path in fetched.sums if path not in there]
        tree.files |= {path: decode(data) for path, data in there.items() if path not in tree.files}
        tree.hashes |= {path: fetched.sums[path] for path in there}
        self._words |= {path: words(data) for path, data in there.items() if path not in self._words}
        for name in names:
            sought = name.encode()
            tree.mentions[name] = tuple(sorted(path for path in there if sought in self._words[path]))
        tree.wanted.clear()


def with_gaps(explained: Explanation, gaps: tuple[str, ...]) -> Explanation:
    """No more than unproven where part of the source could not be read: nobody knows what stands there."""
    if not gaps or explained.verdict == "unproven":
        return explained
    more = f", and {len(gaps) - 1} more" if len(gaps) > 1 else ""
    return replace(
        explained,
        verdict="unproven",
        unproven_because=f"part of the source could not be read: {gaps[0]}{more}",
    )


def read_digest(ask: Ask, folder: str) -> SourceDigest:
    """Ask for it. Raises FleetopsError."""
    return parse_digest(ask(digest_command(folder)), folder)


def with_nearest(explained: Explanation, declared: Iterable[str]) -> Explanation:
    """With the nearest flags that there are, where there is no such flag."""
    if explained.verdict != "no-such-flag":
        return explained
    near = _nearest(explained.flag, declared)
    told = f"did you mean {' or '.join(near)}?" if near else "no flag has a name like that"
    return replace(explained, notes=(*explained.notes, told))


def _nearest(flag: str, declared: Iterable[str]) -> list[str]:
    """At most three: what is almost the same if there is such a name, else those of its family (`hicache_`) first."""
    plain, family = flag.lower().replace("_", ""), flag.lower().partition("_")[0]
    found: dict[str, tuple[bool, float]] = {}
    for name in sorted({*declared} - {flag}):
        alike = difflib.SequenceMatcher(None, plain, name.lower().replace("_", "")).ratio()
        related = name.partition("_")[0] == family
        if alike >= (_KIN if related else _ALIKE):
            found[name] = (not related, -alike)
    same = [name for name, (_, unlike) in found.items() if -unlike >= _SAME]
    return sorted(same or found, key=found.__getitem__)[:3]
