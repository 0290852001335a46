"""Host patterns: `node-[170-179,181]`, `*` and `?`, `@group`, `!x` for without, comma lists.

A range or glob stands for the hosts of the inventory that it matches, so `node-[170-179]` is fine where 175 does not
exist; a plain name must exist, and so must a number that stands by itself in brackets. Exclusions count wherever they stand; with exclusions alone, all others are meant.
Whatever matches nothing is an error: a slip must not widen or empty a selection unseen.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fleetops.inventory.problems import did_you_mean, quote, visible
from fleetops.model.errors import UsageError
from fleetops.model.fleet import Host, Inventory, Node
from fleetops.model.nodeset import expand, fold_names, split_list

Of = Literal["nodes", "hypervisors", "all"]
Groups = Mapping[str, Sequence[str]]

_FORM = re.compile(r"!?(@[A-Za-z0-9._-]+|[A-Za-z0-9_*?\[][A-Za-z0-9._*?,\[\] -]*)")
_PLAIN = re.compile(r"[^*?\[\]]+")
_NUMBER = re.compile(r"[0-9]+")
_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_DEEPEST = 32


class PatternError(ValueError):
    """A pattern that has no meaning in this inventory; `hint` says what may have been meant."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class GroupsTooDeep(PatternError):  # noqa: N818 - it says what is wrong
    """Groups that name groups, and so on, further than anybody can follow."""


@dataclass(frozen=True)
class _Term:
    """One part of a pattern list."""

    text: str

    @property
    def excludes(self) -> bool:
        return self.text.startswith("!")

    @property
    def body(self) -> str:
        return self.text.removeprefix("!")


def select_hosts(inventory: Inventory, patterns: Sequence[str], *, of: Of = "nodes") -> tuple[Host, ...]:
    """The hosts that the patterns mean, each once, in the inventory's order; all of `of` where there are no patterns.

    Raises UsageError, with the nearest name, where a pattern matches nothing or only hosts of the other kind.
    """
    hosts: dict[str, Host] = {**inventory.nodes, **inventory.hypervisors}
    try:
        chosen = select_names(patterns, tuple(hosts), inventory.groups) if patterns else set(hosts)
    except PatternError as error:
        raise UsageError(
            str(error), hint=error.hint or "`fleetops inventory list` shows all hosts"
        ) from error
    wanted = tuple(host for name, host in hosts.items() if name in chosen and _is_of(host, of))
    _refuse_other_kind(patterns, hosts, of)
    if not wanted:
        what = "hosts" if of == "all" else of
        meant = f"{', '.join(patterns)} selects no {what}" if patterns else f"the inventory has no {what}"
        raise UsageError(meant, hint="`fleetops inventory list` shows all hosts")
    return wanted


def _is_of(host: Host, of: Of) -> bool:
    return of == "all" or isinstance(host, Node) == (of == "nodes")


def _refuse_other_kind(patterns: Sequence[str], hosts: Mapping[str, Host], of: Of) -> None:
    """A host of the other kind that is named in full was meant, and must not be dropped in silence."""
    for term in _terms(patterns):
        host = hosts.get(term.text)
        if host and not _is_of(host, of):
            kind = "node" if isinstance(host, Node) else "hypervisor"
            raise UsageError(f"{host.name} is a {kind}; {of} are wanted here")


def select_names(
    patterns: Iterable[str],
    names: Sequence[str],
    groups: Groups,
    within: tuple[str, ...] = (),
    known: dict[str, set[str]] | None = None,
) -> set[str]:
    """The names that the patterns mean. Raises PatternError.

    `within` names the groups being resolved, `known` holds those that are: each is resolved once, however often others hold it.
    """
    terms = _terms(patterns)
    known = {} if known is None else known
    matched = [(term, match_term(term.text, names, groups, within, known)) for term in terms]
    wanted: set[str] = set().union(*(found for term, found in matched if not term.excludes))
    if all(term.excludes for term in terms):
        wanted = set(names)
    return wanted.difference(*(found for term, found in matched if term.excludes))


def match_term(
    text: str,
    names: Sequence[str],
    groups: Groups,
    within: tuple[str, ...] = (),
    known: dict[str, set[str]] | None = None,
) -> set[str]:
    """The names that one part of a pattern list matches, its `!` apart. Raises PatternError where none does."""
    body = _Term(text).body
    if _FORM.fullmatch(text) is None:
        raise PatternError(
            f"{quote(text)} is not a host pattern",
            "like node-174, node-[170-179], node-*, @rack-a, !node-171",
        )
    if body.startswith("@"):
        return _match_group(body[1:], names, groups, within, {} if known is None else known)
    found = _match_names(body, names)
    for number in _single_numbers(body):
        if not _match_names(number, names):
            raise _no_match(number, names, groups)
    if not found:
        raise _no_match(body, names, groups)
    return found


def _match_names(body: str, names: Sequence[str]) -> set[str]:
    try:
        choices = expand(body)
    except ValueError as error:
        raise PatternError(str(error)) from error
    globs = [choice for choice in choices if not _PLAIN.fullmatch(choice)]
    found = set(choices).intersection(names)
    if globs:
        form = re.compile("|".join(_glob(choice) for choice in globs))
        found |= {name for name in names if form.fullmatch(name)}
    return found


def _single_numbers(body: str) -> Iterator[str]:
    """The pattern for each number that stands by itself in brackets alone: `n-[1-3,7]` gives `n-7`."""
    for bracket in _BRACKETS.finditer(body):
        for part in bracket[1].split(","):
            if "-" not in part:
                yield body[: bracket.start()] + part.strip() + body[bracket.end() :]


def _no_match(body: str, names: Sequence[str], groups: Groups) -> PatternError:
    if not _PLAIN.fullmatch(body):
        return PatternError(f"no host matches {quote(body)}")
    if body in groups:
        return PatternError(f"no host is named {quote(body)}", f"the group is `@{body}`")
    return PatternError(f"no host is named {quote(body)}", nearest_hosts(body, names))


def nearest_hosts(name: str, names: Iterable[str]) -> str:
    """A hint: the nearest name, or "". All names that differ in their numbers alone: none of those is nearer."""
    names = tuple(names)
    alike = [each for each in names if _NUMBER.sub("0", each) == _NUMBER.sub("0", name)]
    if alike and not any(_ZEROS.sub("", each) == _ZEROS.sub("", name) for each in alike):
        return f"there {'is' if len(alike) == 1 else 'are'} {visible(fold_names(alike))}"
    return did_you_mean(name, names)


def _match_group(
    name: str, names: Sequence[str], groups: Groups, within: tuple[str, ...], known: dict[str, set[str]]
) -> set[str]:
    if name not in groups:
        raise PatternError(
            f"there is no group {quote('@' + name)}",
            did_you_mean(f"@{name}", [f"@{group}" for group in groups]),
        )
    if name in within:
        chain = " -> ".join(f"@{group}" for group in (*within[within.index(name) :], name))
        raise PatternError(f"the group @{name} contains itself: {chain}")
    if len(within) > _DEEPEST:
        raise GroupsTooDeep(f"groups within groups, more than {_DEEPEST} deep")
    if name not in known:
        known[name] = select_names(groups[name], names, groups, (*within, name), known)
    return known[name]


def _terms(patterns: Iterable[str]) -> list[_Term]:
    return [_Term(part) for pattern in patterns for part in split_list(pattern)]


def _glob(text: str) -> str:
    """`*` and `?` as a regular expression; everything else stands for itself."""
    return "".join({"*": ".*", "?": "."}.get(character, re.escape(character)) for character in text)
