"""The answer of `fleetops size`: one launch's host memory on one node, what its engine will say, and what that holds."""

import json
from dataclasses import asdict, dataclass

from fleetops.model.exit import Exit
from fleetops.model.fact import Key
from fleetops.model.kv import HostPool, KvCache
from fleetops.model.proof import Explanation
from fleetops.model.sizing import Budget, FlagSize, Verdict

FITS, DOES_NOT_FIT, UNPROVEN = "fits", "does-not-fit", "unproven"
VERDICT_EXITS = {FITS: Exit.FINE, DOES_NOT_FIT: Exit.REFUSED, UNPROVEN: Exit.UNKNOWN}


@dataclass(frozen=True, kw_only=True)
class EngineWindow:
    """The values that the engine's own check lets pass on this node, in the flag's unit.

    Attributes:
        place: file and line of the check.
        above: only values above this one pass; None where there is no such bound, or the number it needs is missing.
        up_to: only values up to this one pass; None where that cannot be told.
        sound: whether what passes fits the whole node; None where that cannot be told.
        why: what the check compares, in words.
        missing: the number that a bound rests on and that is not known; "" where none is.
    """

    place: str
    above: float | None = None
    up_to: float | None = None
    sound: bool | None = None
    why: str = ""
    missing: str = ""

    def lets_pass(self, value: float) -> bool | None:
        """Whether the engine would take the value; None where the bounds do not tell."""
        if self.above is not None and value <= self.above:
            return False
        return None if self.up_to is None else value <= self.up_to


@dataclass(frozen=True, kw_only=True)
class Fit:
    """Whether the profile of a node would fit on it, in short.

    Attributes:
        of: what the answer holds for (profile, source, room, day), as a digest: the same needs no proof anew.
        verdict: `fits`, `does-not-fit` or `unproven`.
        says: the arithmetic in a line, or why there is none; next: what to type.
    """

    of: str
    verdict: str
    says: str
    next: str = ""
    contradicted: tuple[str, ...] = ()

    @property
    def as_text(self) -> str:
        """For the next sweep to remember."""
        return json.dumps(asdict(self))

    @classmethod
    def remembered(cls, text: str) -> "Fit | None":
        """As an earlier sweep has kept it; None where none has, or in another form."""
        try:
            body = json.loads(text)
            return cls(**{**body, "contradicted": tuple(body["contradicted"])})
        except (ValueError, TypeError, KeyError):
            return None


FIT: Key[Fit] = Key("fit")


@dataclass(frozen=True, kw_only=True)
class Sizing:
    """One launch against one node.

    Attributes:
        host: the node; "" where none was asked.
        engine: the package; `title` as its makers write it; `version` "" where nothing tells.
        profile: its name; "" without one.
        flag: the flag that the answer is about; None where no flag takes host memory.
        asked: its value; None where it is left to fleetops.
        explanation: what the source shows of it.
        kv: bytes of a token; None where the model is not known or cannot be counted.
        pool: of one rank, for what is asked, or for what fits where nothing is.
        fitting: of one rank, for what would fit, where that is not what is asked.
        notes: what else a person should know, a sentence each.
        doubts: why the meaning of a flag is not proven, or which number is missing.
        contradicted: the flags whose unit or scope the profile states otherwise than the source.
        next: what to type next, or to do; "" where nothing is left to do.
        error: why nothing could be said; then the rest is empty. `hint` says what to do about it.
    """

    host: str = ""
    engine: str
    title: str = ""
    version: str = ""
    profile: str = ""
    flag: str | None = None
    asked: int | float | None = None
    budget: Budget | None = None
    explanation: Explanation | None = None
    window: EngineWindow | None = None
    kv: KvCache | None = None
    pool: HostPool | None = None
    fitting: HostPool | None = None
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    contradicted: tuple[str, ...] = ()
    next: str = ""
    error: str = ""
    hint: str = ""

    @property
    def size(self) -> FlagSize | None:
        """The flag's part of the budget."""
        sizes = self.budget.sizes if self.budget else ()
        return next((size for size in sizes if size.name == self.flag), None)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the verdict is `unproven`."""
        found = (*self.doubts, *(self.budget.unknown if self.budget and not self.doubts else ()))
        return found or (("how much memory is available is not known",) if self.verdict == UNPROVEN else ())

    @property
    def verdict(self) -> str:
        """`fits`, `does-not-fit`, or `unproven` where a meaning is not proven or a number is missing."""
        if self.budget is None or self.doubts or self.budget.verdict is Verdict.UNKNOWN:
            return UNPROVEN
        return FITS if self.budget.verdict is Verdict.FITS else DOES_NOT_FIT

    @property
    def exit_code(self) -> Exit:
        """0 fits, 5 does not fit, 3 unproven."""
        return VERDICT_EXITS[self.verdict]

    @property
    def is_exact(self) -> bool:
        """Whether the pool is exact to the token."""
        return self.kv is not None and self.kv.is_exact and self.pool is not None
