"""What a search through the source on many nodes found: lines, answers of one node, the report over all of them."""

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class SourceLine:
    """One line of a file, as it stands there.

    Attributes:
        file: path relative to the searched folder.
        line: its number, from 1.
        text: the line without its newline; a very long one is cut around its first match, `…` where it was cut.
        spans: start and end of what matched, as positions in `text`; no part of what makes two lines equal.
        is_match: False for a line that is only shown as context of another.
    """

    file: str
    line: int
    text: str
    spans: tuple[tuple[int, int], ...] = field(default=(), compare=False)
    is_match: bool = True


@dataclass(frozen=True, kw_only=True)
class SourceAnswer:
    """What one node answered. Two nodes that answer the same have equal answers.

    Attributes:
        engine, version: whose source was searched; empty where it is another folder (`--path`), or nothing tells.
        engine_title: the engine's name as its makers write it.
        total: matching lines found on the node, shown or not.
        files: how many files they are in.
        lines: what was shown of them, sorted by file, context included.
        cut_at_bytes: the size of an answer at which it was cut, whatever number of lines was asked for; 0 where it was not.
        digest: a checksum over everything found, so that answers which differ past the cut are not called equal.
        unread: files that could not be read, in grep's own words.
    """

    engine: str = ""
    version: str = ""
    engine_title: str = ""
    total: int
    files: int
    lines: tuple[SourceLine, ...] = ()
    cut_at_bytes: int = 0
    digest: str = ""
    unread: tuple[str, ...] = ()

    @property
    def shown(self) -> int:
        """How many of the matching lines are in `lines`."""
        return sum(line.is_match for line in self.lines)


@dataclass(frozen=True, kw_only=True)
class NotAsked:
    """A host that was not searched: it is unknown what it has.

    Attributes:
        reached: it answered, but could not be searched; otherwise it could not be asked at all.
    """

    host: str
    error: str
    hint: str = ""
    reached: bool = False


@dataclass(frozen=True, kw_only=True)
class GrepReport:
    """The search over all hosts.

    Attributes:
        answers: host and answer, in the inventory's order.
        unreachable: the hosts that could not be asked, or not be searched.
        warnings: what grep had to say about the pattern, each once.
    """

    answers: tuple[tuple[str, SourceAnswer], ...]
    unreachable: tuple[NotAsked, ...] = ()
    warnings: tuple[str, ...] = ()
