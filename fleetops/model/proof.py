"""Proofs: what a launch flag means, as the engine's own source shows it."""

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["proven", "unproven", "no-such-flag"]
Unit = Literal["GB", "GiB", "MB", "MiB", "bytes", "tokens", "blocks", "ratio", "fraction", "unknown"]
Scope = Literal["per-rank", "total", "per-node", "unknown"]
Share = Literal["whole", "part"]
Role = Literal["declaration", "read", "argument", "arithmetic", "allocation", "scope", "check"]

ALWAYS = "always"


@dataclass(frozen=True, kw_only=True)
class Place:
    """One line of source on the way from the declaration to the allocation.

    Attributes:
        file: relative to the package's folder (`srt/server_args.py`).
        line: counted from 1.
        text: the line, or the part of the statement that matters, on one line and without its indentation.
        role: what the line is to the proof.
        note: what happens to the value there, for a person (`x 1e9: GB`); may be empty.
        sha256: of the whole file, hex.
    """

    file: str
    line: int
    text: str
    role: Role
    note: str = ""
    sha256: str = ""


@dataclass(frozen=True, kw_only=True)
class Pool:
    """One allocation that takes the flag's value.

    Attributes:
        file, line: of the arithmetic that turns the value into a size.
        name: the class or function that allocates (`HostKVCache`).
        share: `whole`, or `part` where the value is split between pools first.
        when: `always`, or what has to be so for this pool to be built beside or instead of the others.
    """

    file: str
    line: int
    name: str
    share: Share = "whole"
    when: str = ALWAYS


@dataclass(frozen=True, kw_only=True)
class EngineCheck:
    """The engine's own check of the value.

    Attributes:
        sound: whether passing it means that the node can hold what all ranks take; None where that cannot be told.
        why: in a sentence, for a person.
    """

    file: str
    line: int
    text: str
    sound: bool | None
    why: str


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What a flag means.

    Attributes:
        flag: with underscores.
        engine: the package (`sglang`, `vllm`, `lmcache`); version: its release, "" where nothing tells.
        default: the declared one; None where none is declared or it is no constant.
        pools: every allocation that takes the value.
        simultaneous: how many times the whole value is taken at once in the worst case (two hybrid pools: 2);
            the least case is 1. None where nothing is proven.
        proof: the way from the declaration to the allocation, in the order in which a person would walk it.
        scope_why: why the scope is what it is, in a sentence or two.
        unproven_because: where the trail was lost, with file and line; None where it was not.
        notes: what else a person should know (another pool on top, help text that says otherwise, ...).
        tree_sha256: of the whole package's source, as `source/tree.py` computes it.
    """

    flag: str
    engine: str
    version: str
    verdict: Verdict
    unit: Unit = "unknown"
    scope: Scope = "unknown"
    default: bool | int | float | str | None = None
    pools: tuple[Pool, ...] = ()
    simultaneous: int | None = None
    proof: tuple[Place, ...] = ()
    scope_why: str = ""
    check: EngineCheck | None = None
    unproven_because: str | None = None
    notes: tuple[str, ...] = ()
    tree_sha256: str = ""

    @property
    def is_proven(self) -> bool:
        """Only what is proven may be launched without a waiver."""
        return self.verdict == "proven"
