"""A YAML file as entries that know where they stand, with everything refused that hides or repeats a value.

Generic: it knows nothing of inventories. A reader of some kind of file calls `read_document`, walks the entries
(most simply with `kinds.py` and `record.py`), adds what it finds wrong to one `Problems`, and ends with
`problems.raise_if_any(...)`, so that a user sees all problems of a file at once.

Scalars keep the text that stands in the file, as YAML 1.2's core schema reads it: `no` and `on` are text,
`022` is a number that nobody takes for octal. Duplicate keys, aliases, merge keys and tags are problems, by name.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from fleetops.inventory.problems import Mark, Problems, quote, visible
from fleetops.model.errors import UsageError

ScalarType = Literal["null", "boolean", "integer", "number", "text"]

LARGEST_BYTES = 4 << 20
"""What is larger is not read: thousands of hosts take a quarter of it, and YAML is read slowly."""

_CORE_TYPES: tuple[tuple[ScalarType, re.Pattern[str]], ...] = (
    ("null", re.compile(r"(~|null|Null|NULL|)")),
    ("boolean", re.compile(r"(true|True|TRUE|false|False|FALSE)")),
    ("integer", re.compile(r"([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)")),
    ("number", re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")),
    ("number", re.compile(r"([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))")),
)
_MERGE_TAG = "tag:yaml.org,2002:merge"
_REFUSED_TAG = "fleetops:refused"
_NEEDS_QUOTES = "text that starts with @ * ! & or % needs quotes"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A value in a file.

    Attributes:
        mark: where it stands.
        path: how it is reached, for messages: `nodes.node-174.guest`.
        key_mark: where the key that introduces it stands; its own mark in a list and at the top.
    """

    mark: Mark
    path: str
    key_mark: Mark


@dataclass(frozen=True, kw_only=True)
class Scalar(Entry):
    """A single value: the text as written, without its quotes."""

    text: str
    quoted: bool = False

    @property
    def type(self) -> ScalarType:
        """What YAML 1.2's core schema takes it for; whatever is quoted is text."""
        if self.quoted:
            return "text"
        return next((name for name, form in _CORE_TYPES if form.fullmatch(self.text)), "text")


@dataclass(frozen=True, kw_only=True)
class Listing(Entry):
    """A YAML sequence."""

    items: tuple[Entry, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Mapping(Entry):
    """A YAML mapping with text keys, each once. `key_marks` tells where each key stands."""

    entries: dict[str, Entry] = field(default_factory=dict)
    key_marks: dict[str, Mark] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Refused(Entry):
    """A value that was already reported (an alias, a tag): readers skip it without a second problem."""


def read_document(path: Path, problems: Problems) -> Entry | None:
    """The file's one YAML document; None where it is empty or not YAML at all, which is then among `problems`.

    Raises UsageError where the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    if len(content) > LARGEST_BYTES:
        raise UsageError(f"{path} is larger than {LARGEST_BYTES >> 20} MiB: is it the right file?")
    return parse_document(content, str(path), problems)


def parse_document(content: bytes, file: str, problems: Problems) -> Entry | None:
    """As `read_document`, for content that is already here; `file` is what marks will call it."""
    top = Mark(file)
    text = _decode(content, file, problems)
    if text is None:
        return None
    try:
        return _parse(text, top, problems)
    except yaml.MarkedYAMLError as error:
        _add_syntax_error(error, top, problems)
    except yaml.reader.ReaderError as error:
        place = _mark_at(text, error.position, file)
        problems.add(place, f"character #x{error.character:02x} does not belong in a YAML file")
    except RecursionError:
        problems.add(top, "nested too deeply to be read")
    return None


def _parse(text: str, top: Mark, problems: Problems) -> Entry | None:
    node = _Reader(text, top.file, problems).get_single_node()
    if node is None:
        problems.add(top, "the file is empty")
        return None
    return _Converter(top.file, problems).entry(node, "", None)


def _decode(content: bytes, file: str, problems: Problems) -> str | None:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8", "replace")
        problems.add(_mark_at(before, len(before), file), "not UTF-8 text", hint="save the file as UTF-8")
        return None


def _mark_at(text: str, position: int, file: str) -> Mark:
    before = text[:position]
    return Mark(file, before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1)


def _add_syntax_error(error: yaml.MarkedYAMLError, top: Mark, problems: Problems) -> None:
    place = error.problem_mark or error.context_mark
    mark = Mark(top.file, place.line + 1, place.column + 1) if place else top
    words = [part for part in (error.context, error.problem) if part]
    unexpected = error.problem or ""
    hint = _NEEDS_QUOTES if "cannot start any token" in unexpected or "alphabetic" in unexpected else ""
    if "'\\t'" in unexpected:
        hint = "indent with spaces, not tabs"
    problems.add(mark, f"not valid YAML: {', '.join(words)}", hint=hint)


class _Reader(yaml.SafeLoader):
    """PyYAML's composer, with aliases and tags noted instead of followed."""

    def __init__(self, text: str, file: str, problems: Problems) -> None:
        super().__init__(text)
        self._file = file
        self._problems = problems

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            event = self.get_event()  # type: ignore[no-untyped-call]
            self._refuse(event, f"alias `*{event.anchor}`: aliases are not used here", "write the value out")
            return yaml.ScalarNode(_REFUSED_TAG, "", event.start_mark, event.end_mark)
        event = self.peek_event()  # type: ignore[no-untyped-call]
        tag, event.anchor = event.tag, None
        if tag is not None:
            self._refuse(
                event, f"tag `{tag}`: tags are not used here", "put text that starts with ! in quotes"
            )
            event.tag, event.implicit = None, (True, False)
        node = super().compose_node(parent, index)
        if tag is not None and node is not None:
            node.tag = _REFUSED_TAG
        return node

    def _refuse(self, event: Any, message: str, hint: str) -> None:
        start = event.start_mark
        self._problems.add(Mark(self._file, start.line + 1, start.column + 1), message, hint=hint)


class _Converter:
    """PyYAML's nodes -> entries; duplicate and merge keys noted on the way."""

    def __init__(self, file: str, problems: Problems) -> None:
        self._file = file
        self._problems = problems

    def entry(self, node: yaml.Node, path: str, key_mark: Mark | None) -> Entry:
        mark = self._mark(node)
        place: dict[str, Any] = {"mark": mark, "path": path, "key_mark": key_mark or mark}
        if node.tag == _REFUSED_TAG:
            return Refused(**place)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            items = (self.entry(item, f"{path}[{i}]", None) for i, item in enumerate(node.value))
            return Listing(**place, items=tuple(items))
        text = self._text(node)
        if text is None:
            return Refused(**place)
        return Scalar(**place, text=text, quoted=isinstance(node, yaml.ScalarNode) and bool(node.style))

    def _text(self, node: yaml.Node) -> str | None:
        """A scalar's text; a character that JSON would escape as two halves is one. None for half of one alone."""
        try:
            return str(node.value).encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            self._problems.add(self._mark(node), "half a character (a surrogate), which has no bytes")
            return None

    def _mapping(self, node: yaml.MappingNode, place: dict[str, Any]) -> Mapping:
        mapping = Mapping(**place)
        for key_node, value in node.value:
            key = self._key(key_node)
            if key is None:
                continue
            mark = self._mark(key_node)
            if key in mapping.entries:
                line = mapping.key_marks[key].line
                self._problems.add(
                    mark, f"duplicate key {quote(key)}", hint=f"it stands on line {line} already"
                )
                continue
            path = f"{place['path']}.{visible(key)}".removeprefix(".")
            mapping.key_marks[key] = mark
            mapping.entries[key] = self.entry(value, path, mark)
        return mapping

    def _key(self, node: yaml.Node) -> str | None:
        if node.tag == _MERGE_TAG:
            self._problems.add(
                self._mark(node), "merge key `<<`: merging is not used here", hint="write the keys out"
            )
            return None
        if not isinstance(node, yaml.ScalarNode):
            self._problems.add(self._mark(node), "a key must be plain text")
            return None
        return None if node.tag == _REFUSED_TAG else self._text(node)

    def _mark(self, node: yaml.Node) -> Mark:
        return Mark(self._file, node.start_mark.line + 1, node.start_mark.column + 1)
