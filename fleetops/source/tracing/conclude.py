"""From everything that was met to the verdict."""

import ast
import re
from dataclasses import dataclass, field, replace
from typing import Any

from fleetops.model.proof import ALWAYS, Explanation, Place, Pool, Scope, Unit
from fleetops.source.tracing.amounts import Amount, Guard, Step
from fleetops.source.tracing.builtin_calls import allocates, is_shared
from fleetops.source.tracing.declared import Declaration
from fleetops.source.tracing.definitions import Function, last_name
from fleetops.source.tracing.engine_checks import find_check
from fleetops.source.tracing.machine import Machine, Met
from fleetops.source.tracing.outside import ALONE
from fleetops.source.tracing.reach import Reach, Way
from fleetops.source.tracing.replaced import dynamic_attributes, replaced_definitions
from fleetops.source.tracing.units import unit_of

_ALL_RANKS = re.compile(r"(^|_)(tp|tensor|world|attn_tp|kv_ranks|ranks|workers|gpu_ids)|tensor|world_size")
_PER_NODE = re.compile(r"_per_(node|host)$|^local_|local_world_size")


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
        scope, why, way = self._scope(taken)
        self._doubt_the_rest(taken, unit)
        pools = self._pools(taken)
        proven = bool(taken) and not self.doubts and unit != "unknown" and scope != "unknown"
        first = self._plainest(taken)
        tree = self.machine.program.tree
        return Explanation(
            flag=self.machine.flag,
            engine=tree.package,
            version=tree.version,
            verdict="proven" if proven else "unproven",
            unit=unit,
            scope=scope if proven or not self.doubts else "unknown",
            default=self._default(),
            pools=pools,
            simultaneous=self._simultaneous(taken) if taken else None,
            proof=self._proof(first, way),
            scope_why=why,
            check=find_check(self._ordered_checks(), self.machine.program),
            unproven_because=None if proven else self._because(taken),
            notes=tuple(dict.fromkeys((*self.notes, *self.machine.notes))),
            tree_sha256=tree.digest,
        )

    def _taken(self) -> list[Met]:
        """Allocations (or limits of them) that take an amount of the flag."""
        found = [one for one in self.machine.allocations if one.amount.site is not None]
        # Where rows of many bytes are allocated by their number, a single dimension of that number keeps track of them.
        rows = {
            one.amount.site
            for one in found
            if one.why != ALONE and any(under.counts_bytes for under in one.amount.over)
        }
        found = [one for one in found if one.why != ALONE or one.amount.site not in rows]
        # What is derived from a pool's size by other means beside the pool itself (a table for each request) is none.
        clear = {
            one.amount.site for one in found if one.why != ALONE and not unit_of(one.amount, one.step.text)[1]
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
                self.doubts.append(f"{_at(one)}: {why}")
                return "unknown"
            found.setdefault(unit, one)
        if len(found) > 1:
            told = ", ".join(f"{unit} at {_at(one)}" for unit, one in found.items())
            self.doubts.append(f"its allocations do not agree: {told}")
            return "unknown"
        return next(iter(found), "unknown")

    def _scope(self, taken: list[Met]) -> tuple[Scope, str, Way | None]:
        scopes: dict[Scope, tuple[str, Way | None]] = {}
        own = [one for one in taken if not is_shared(one.step.text)]
        if taken and not own:
            why = f"{_at(taken[0])}: it is memory that processes share, and which of them do is not known"
            self.doubts.append(why)
            return "unknown", why, None
        for one in own:
            scope, why, way = self._scope_of(one)
            scopes.setdefault(scope, (why, way))
        if not scopes:
            return "unknown", "", None
        if len(scopes) > 1:
            told = "; ".join(f"{scope}: {why}" for scope, (why, _) in scopes.items())
            self.doubts.append(f"its allocations do not agree: {told}")
            return "unknown", told, None
        scope, (why, way) = next(iter(scopes.items()))
        if scope == "unknown":
            self.doubts.append(why)
        return scope, why, way

    def _scope_of(self, one: Met) -> tuple[Scope, str, Way | None]:
        parallel, loops = one.amount.parallel, set(one.loops)
        if one.amount.site and unit_of(one.amount, one.step.text)[0] in {"ratio", "fraction"}:
            loops = set()
            parallel = one.amount.site.parallel  # a share of what the rank has, however that is used later
        if one.amount.ranks:
            return "unknown", f"{one.amount.ranks}: only some ranks are given it", None
        if loops & set(one.amount.site.loops if one.amount.site else ()):
            return "unknown", f"{_at(one)}: it is allocated in a loop, and how often is not known", None
        divided = [name for name, power in parallel if power < 0]
        multiplied = [name for name, power in parallel if power > 0]
        if multiplied:
            return "unknown", f"{_at(one)}: it has been multiplied by {multiplied[0]}", None
        ways = self.reach.ways(one.root) if one.root else []
        if not ways and one.amount.site and one.amount.site.root:
            ways = self.reach.ways(one.amount.site.root)
        ways = [way for way in ways if way.sure] or ways
        way = next((way for way in ways if way.per_rank and not way.restricted), ways[0] if ways else None)
        if any(power < -1 for _, power in parallel):
            return "unknown", f"{_at(one)}: it is divided by {divided[0]} more than once", way
        if divided and all(_PER_NODE.search(name) for name in divided):
            return (
                "per-node",
                f"it is divided by {' and '.join(divided)}, so that the ranks of a node share it",
                way,
            )
        if divided and not any(_ALL_RANKS.search(name) for name in divided):
            return (
                "unknown",
                f"{_at(one)}: it is divided by {divided[0]} only, which does not count all ranks",
                way,
            )
        if divided:
            return (
                "total",
                f"it is divided by {' and '.join(divided)} on the way, so that the ranks share it",
                way,
            )
        guard = (
            next((guard for guard in one.amount.site.guards + one.guards if guard.ranks), None)
            if one.amount.site
            else None
        )
        if guard:
            return (
                "unknown",
                f"{guard.module.file}:{guard.test.lineno}: only some ranks allocate it ({_test(guard)})",
                way,
            )
        restricted = [way for way in ways if way.restricted]
        if restricted:
            place = restricted[0].restricted
            where = f"{place.module.file}:{place.ranks}" if place else ""
            return "unknown", f"{where}: only some ranks get there", way
        started = [way.starts for way in ways if way.starts]
        if started and not any(way.per_rank for way in ways):
            place = started[0]
            where = f"{place.module.file}:{place.line}" if place else ""
            return (
                "unknown",
                f"{where}: it runs in a process that is started there, and how many there are is not known",
                way,
            )
        elsewhere = next((way for way in ways if not way.per_rank and way.sure), None)
        if elsewhere and any(way.per_rank and way.sure for way in ways):
            place = elsewhere.places[0] if elsewhere.places else None
            where = f"{place.module.file}:{place.line}" if place else elsewhere.begins
            return (
                "unknown",
                f"{where}: it is allocated outside the ranks' processes as well ({elsewhere.begins})",
                way,
            )
        if any(way.per_rank for way in ways):
            return "per-rank", self._inside(way), way
        if ways:
            return "total", f"built once per server, in {ways[0].begins}", ways[0]
        return "unknown", f"{_at(one)}: nothing that the server runs was found to lead there", None

    def _inside(self, way: Way | None) -> str:
        if way is None:
            return ""
        outermost = way.places[0] if way.places else None
        where = f" ({outermost.module.file}:{outermost.line})" if outermost else ""
        return f"built inside each rank's process, from {way.begins}{where}; nothing on the way divides by a parallel size"

    def _doubt_the_rest(self, taken: list[Met], unit: Unit) -> None:
        """What was lost on the way, overwritten, or stands in files that cannot be read."""
        flag = self.machine.flag
        for file, why in self.machine.program.broken.items():
            if file in self.machine.program.files_mentioning(flag):
                self.doubts.append(why)
        for one in self.machine.overrides:
            self._doubt_written(one, unit)
        self.doubts += replaced_definitions(taken, self.machine.program)
        for one in self.machine.losses:
            if one.amount.is_bare:
                self.doubts.append(f"{_at(one)}: {one.why}")
        if not taken:
            self.doubts += self.machine.program.broken.values()
        self.doubts += [one.converts for one in self.declared if one.converts]
        self.doubts += dynamic_attributes(self.machine.declared, flag)
        if not taken and not self.doubts:
            for one in self.machine.losses:
                self.doubts.append(f"{_at(one)}: {one.why}")
        if self.machine.budget < 0:
            self.doubts.append("it leads to more places than can be followed")
        for one in taken:
            self.notes += [f"bounded by {text}" for text in one.amount.bounded]

    def _doubt_written(self, one: Met, unit: Unit) -> None:
        """The flag's own field is written. A share that is made smaller for some models still is a share."""
        said = f"{_at(one)}: it is overwritten: {one.step.text}"
        plain = Amount(coefficient=one.amount.coefficient)
        if (
            unit in {"ratio", "fraction"}
            and one.guards
            and not one.why
            and one.amount == replace(plain, site=one.amount.site)
        ):
            self.notes.append(f"{_at(one)}: in some cases {one.step.text}")
        else:
            self.doubts.append(said)

    def _because(self, taken: list[Met]) -> str:
        if self.doubts:
            return next(iter([*self.machine.program.broken.values(), *self.doubts]))
        if not taken:
            return f"nothing that the server runs allocates by it (declared at {self._declared_at()})"
        return "the trail does not show what it counts"

    def _declared_at(self) -> str:
        return f"{self.declared[0].module.file}:{self.declared[0].line}"

    def _pools(self, taken: list[Met]) -> tuple[Pool, ...]:
        """One for each place where the number becomes a size, and each share of it."""
        contexts = self._contexts(taken)
        found: dict[tuple[str, int, str, str], set[str]] = {}
        for one in taken:
            site = one.amount.site
            if site is None:
                continue
            key = (site.module.file, site.line, site.name, one.amount.share)
            found.setdefault(key, set()).update([self._when(one, contexts)])
        return tuple(
            Pool(
                file=file,
                line=line,
                name=name,
                share="part" if share == "part" else "whole",
                when=ALWAYS if ALWAYS in when else "; ".join(sorted(when)),
            )
            for (file, line, name, share), when in sorted(
                found.items(), key=lambda item: (item[0][3] == "part", ALWAYS not in item[1], item[0])
            )
        )

    def _contexts(self, taken: list[Met]) -> dict[Function | None, list[Met]]:
        found: dict[Function | None, list[Met]] = {}
        for one in taken:
            found.setdefault(one.root, []).append(one)
        return found

    def _when(self, one: Met, contexts: dict[Function | None, list[Met]]) -> str:
        """`always` where it is the only pool of its stack; else which stack it belongs to."""
        beside = {
            (other.amount.site.name, other.amount.site.line)
            for other in contexts[one.root]
            if other.amount.site and not _excludes(one, other) and _place(other) != _place(one)
        }
        if (not beside and one.amount.share == "whole") or one.step.role == "check":
            return ALWAYS
        names = " and ".join(
            sorted({name for name, _ in beside} or {one.amount.site.name if one.amount.site else ""})
        )
        title = one.root.title if one.root else ""
        return f"{title}: {'shared with' if one.amount.share == 'part' else 'beside'} {names}"

    def _simultaneous(self, taken: list[Met]) -> int:
        """The most whole pools that one stack builds."""
        most = 1
        for group in self._contexts([one for one in taken if one.step.role != "check"]).values():
            whole = {_place(one): one for one in group if one.amount.share == "whole"}
            kept: list[Met] = []
            for one in whole.values():
                if not any(_excludes(one, other) for other in kept):
                    kept.append(one)
            most = max(most, len(kept))
        return most

    def _plainest(self, taken: list[Met]) -> Amount | None:
        """The amount whose way is shown: a whole one, by the shortest way."""
        if taken:
            best = min(taken, key=lambda one: (one.amount.share == "part", len(one.amount.trail)))
            return best.amount
        lost = [*self.machine.losses, *self.machine.overrides]
        return lost[0].amount if lost else None

    def _proof(self, amount: Amount | None, way: Way | None) -> tuple[Place, ...]:
        steps = (
            list(amount.trail)
            if amount
            else [Step(one.module, one.line, one.text, "declaration") for one in self.declared[:1]]
        )
        places = [self._place(one) for one in steps]
        if way and way.places:
            outermost = way.places[0]
            step = Step(
                outermost.module,
                outermost.line,
                outermost.module.lines[outermost.line - 1].strip(),
                "scope",
                f"in {way.begins}",
            )
            places.append(self._place(step))
        return tuple(places)

    def _place(self, step: Step) -> Place:
        return Place(
            file=step.module.file,
            line=step.line,
            text=step.text,
            role=step.role,
            note=step.note,
            sha256=self.machine.program.tree.sha256(step.module.file),
        )

    def _ordered_checks(self) -> list[Any]:
        return sorted(self.machine.checks, key=lambda item: (item[0].step.module.file, item[0].step.line))


def _place(one: Met) -> tuple[Any, ...]:
    """What makes two allocations of one site two pools: the calls that led to it."""
    site = one.amount.site
    return (site.module.file, site.line, site.path) if site else ()


def _excludes(one: Met, other: Met) -> bool:
    """Whether no run can build both: different ways of one test, or different callees of one call."""
    first, second = one.amount.site, other.amount.site
    if first is None or second is None:
        return False
    ways = {(guard.path, guard.text): guard.branch for guard in first.guards}
    kinds = {(guard.path, guard.subject) for guard in first.guards if guard.branch and guard.subject}
    for guard in second.guards:
        if ways.get((guard.path, guard.text), guard.branch) is not guard.branch:
            return True
        # a thing is of one class: of two classes that it is tested for, only one is its own
        same = (guard.path, guard.text) in ways
        if guard.branch and not same and (guard.path, guard.subject) in kinds:
            return True
    for here, there in zip(first.path, second.path, strict=False):
        if here != there:
            return here.node is there.node
    return False


def _at(one: Met) -> str:
    return f"{one.step.module.file}:{one.step.line}"


def _test(guard: Guard) -> str:
    text = ast.unparse(guard.test)
    return text if guard.branch else f"not ({text})"
