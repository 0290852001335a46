"""From everything that was met to the verdict."""

import ast
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from fleetops.model.proof import Explanation, Scope, Unit
from fleetops.source.tracing.amounts import Amount
from fleetops.source.tracing.builtin_calls import allocates, is_shared
from fleetops.source.tracing.declared import Declaration
from fleetops.source.tracing.definitions import last_name
from fleetops.source.tracing.engine_checks import find_check
from fleetops.source.tracing.machine import Machine, Met
from fleetops.source.tracing.outside import EACH, TRACKS
from fleetops.source.tracing.places import proof_of
from fleetops.source.tracing.pools import pools_of, simultaneous
from fleetops.source.tracing.reach import Reach
from fleetops.source.tracing.replaced import dynamic_attributes, replaced_definitions
from fleetops.source.tracing.rewriting import FIXED
from fleetops.source.tracing.scope import Owned, scope_of
from fleetops.source.tracing.units import unit_of

_TO_HOST = frozenset({"pin_memory", "cpu"})


@dataclass(eq=False)
class Conclusion:
    """One flag's verdict in the making."""

    machine: Machine
    reach: Reach
    declared: list[Declaration]
    doubts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def explanation(self) -> Explanation:
        """The verdict: proven only where everything that was met agrees."""
        taken = self._taken()
        unit = self._unit(taken)
        owned = self._scope(taken)
        self._doubt_the_rest(taken, unit)
        proven = bool(taken) and not self.doubts and unit != "unknown" and owned.scope != "unknown"
        tree = self.machine.program.tree
        return Explanation(
            flag=self.machine.flag,
            engine=tree.package,
            version=tree.version,
            verdict="proven" if proven else "unproven",
            unit=unit,
            scope=owned.scope if proven or not self.doubts else "unknown",
            default=self._default(),
            pools=pools_of(taken),
            # Pools divide a share of memory among them: none takes the share of another.
            simultaneous=simultaneous(taken) if taken and unit != "fraction" else None,
            proof=proof_of(self._plainest(taken), owned.way, self.declared, tree),
            scope_why=owned.why,
            check=find_check(self._ordered_checks(), self.machine.program) if taken else None,
            unproven_because=None if proven else self._because(taken),
            notes=tuple(dict.fromkeys((*self.notes, *self.machine.notes))),
            tree_sha256=tree.digest,
        )

    def _taken(self) -> list[Met]:
        """Allocations (or limits of them) that take an amount of the flag."""
        found = [one for one in self.machine.allocations if one.amount.site is not None]
        # Where rows of many bytes are allocated by their number, a single dimension of that number keeps track of them.
        rows = {one.amount.site for one in found if one.why != TRACKS and one.amount.counts_rows}
        found = [
            one
            for one in found
            if one.why != TRACKS
            or not one.amount.counts_rows
            or not (one.amount.site in rows or one.amount.is_of_memory)
        ]
        # What is derived from a pool's size by other means beside the pool itself (a table for each request) is none.
        clear = {
            one.amount.site
            for one in found
            if one.why != TRACKS and not unit_of(one.amount, one.step.text)[1]
        }
        found = [
            one
            for one in found
            if one.amount.site not in clear
            or not unit_of(one.amount, one.step.text)[1]
            or (one.amount.site and one.amount.site.moved)
        ]
        return found or [one for one, _ in self.machine.checks if self._is_limit(one)]

    def _is_limit(self, one: Met) -> bool:
        """An amount that something is compared with before more is allocated, piece by piece."""
        if one.amount.site is None or one.function is None:
            return False
        return any(
            isinstance(node, ast.Call)
            and (allocates(last_name(node.func)) or last_name(node.func) in _TO_HOST)
            for node in ast.walk(one.function.node)
        )

    def _default(self) -> Any:
        known = [
            one
            for one in self.declared
            if one.known and isinstance(one.default, bool | int | float | str | None)
        ]
        return known[0].default if known else None

    def _unit(self, taken: list[Met]) -> Unit:
        found: dict[Unit, Met] = {}
        for one in taken:
            unit, why = unit_of(one.amount, one.step.text)
            if unit == "unknown":
                self.doubts.append(f"{one.at}: {why}")
                return "unknown"
            found.setdefault(unit, one)
        if len(found) > 1:
            told = ", ".join(f"{unit} at {one.at}" for unit, one in found.items())
            self.doubts.append(f"its allocations do not agree: {told}")
            return "unknown"
        return next(iter(found), "unknown")

    def _scope(self, taken: list[Met]) -> Owned:
        """What all allocations agree on; memory that processes share says nothing of its own."""
        own = [one for one in taken if not is_shared(one.step.text)]
        if taken and not own:
            why = f"{taken[0].at}: it is memory that processes share, and which of them do is not known"
            self.doubts.append(why)
            return Owned("unknown", why)
        found: dict[Scope, Owned] = {}
        for one in own:
            owned = scope_of(one, self.reach)
            if owned.scope not in found or (owned.way and not found[owned.scope].way):
                found[owned.scope] = owned
        if len(found) > 1:
            told = "; ".join(f"{owned.scope}: {owned.why}" for owned in found.values())
            self.doubts.append(f"its allocations do not agree: {told}")
            return Owned("unknown", told)
        only = next(iter(found.values()), Owned("unknown", ""))
        if found and only.scope == "unknown":
            self.doubts.append(only.why)
        return only

    def _doubt_the_rest(self, taken: list[Met], unit: Unit) -> None:
        """What was lost on the way, overwritten, or stands in files that cannot be read."""
        flag, program = self.machine.flag, self.machine.program
        followed = [name for name, held in self.machine.fields.items() if held]
        for (
            file,
            why,
        ) in program.broken.items():  # it may read the value, and nobody knows what it does with it
            if any(file in program.files_mentioning(name) for name in followed):
                self.doubts.append(why)
        for one in self.machine.overrides:
            self._doubt_written(one, unit)
        for one in self.machine.repeated:
            self._doubt_repeated(one, unit)
        self.doubts += replaced_definitions(taken, self.machine.program)
        for one in self.machine.losses:
            if one.amount.is_bare:
                self.doubts.append(f"{one.at}: {one.why}")
        if not taken:
            self.doubts += self.machine.program.broken.values()
        self.doubts += [one.converts for one in self.declared if one.converts]
        self.doubts += dynamic_attributes(self.machine.declared, flag)
        if not taken and not self.doubts:
            for one in self.machine.losses:
                self.doubts.append(f"{one.at}: {one.why}")
        if self.machine.budget < 0:
            self.doubts.append("it leads to more places than can be followed")
        for one in taken:
            self.notes += [f"bounded by {text}" for text in one.amount.bounded]

    def _doubt_written(self, one: Met, unit: Unit) -> None:
        """The flag's own field is written. A share that is made smaller for some models still is a share."""
        said = f"{one.at}: it is overwritten: {one.step.text}"
        shared = one.amount.parallel or one.amount.moved or one.amount.ranks
        fixed = unit == "fraction" and one.why == FIXED
        if fixed or (unit in {"ratio", "fraction"} and not one.why and not shared):
            self.notes.append(f"{one.at}: in some cases {one.step.text}")
        else:
            self.doubts.append(said)

    def _doubt_repeated(self, one: Met, unit: Unit) -> None:
        """Taken in a loop. A ratio of the rows of several things that are mirrored one by one still is that ratio.

        So is a share of memory that has been divided by what a row takes: as many rows, in each of several buffers.
        """
        if unit == "fraction" and one.amount.is_of_memory and one.amount.counts_rows:
            return
        if unit == "ratio" and one.why == EACH:
            self.notes.append(f"{one.at}: {EACH}")
        else:
            self.doubts.append(f"{one.at}: it is allocated more than once: {one.step.text}")

    def _because(self, taken: list[Met]) -> str:
        if self.doubts:
            return next(iter([*self.machine.program.broken.values(), *self.doubts]))
        if not taken:
            return f"nothing that the server runs allocates by it (declared at {self._declared_at()})"
        return "the trail does not show what it counts"

    def _declared_at(self) -> str:
        return f"{self.declared[0].module.file}:{self.declared[0].line}"

    def _plainest(self, taken: list[Met]) -> Amount | None:
        """The amount whose way is shown: a whole one, where what leads there is known, by the shortest way."""
        if taken:
            often = Counter(one.root for one in taken)
            best = min(
                taken,
                key=lambda one: (
                    one.amount.share == "part",
                    not (one.root and self.reach.ways(one.root)),
                    -often[one.root],
                    len(one.amount.trail),
                ),
            )
            return best.amount
        lost = [*self.machine.losses, *self.machine.overrides]
        return lost[0].amount if lost else None

    def _ordered_checks(self) -> list[Any]:
        return sorted(self.machine.checks, key=lambda item: (item[0].step.module.file, item[0].step.line))
