"""Following one flag everywhere it goes: from its reads to whatever reads what they were stored in."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from fleetops.source.tracing.amounts import Amount, Site, Step, Symbol
from fleetops.source.tracing.builtin_calls import is_shared
from fleetops.source.tracing.declared import Declaration
from fleetops.source.tracing.definitions import Function, Module
from fleetops.source.tracing.machine import Field, Machine, Noticed
from fleetops.source.tracing.outside import TRACKS
from fleetops.source.tracing.reach import Reach
from fleetops.source.tracing.readers import reads
from fleetops.source.tracing.statements import Statements
from fleetops.source.tracing.values import Const, Foreign, Object, amounts_in

_UP = 4
_MOST_ROOTS = 160
_TRIED = 24  # functions that read what a converted amount was stored in
_COMMON = 40  # a name that more files than this mention says too little to be looked for by itself

_Takers = defaultdict[Site, set[tuple[Function | None, bool]]]


@dataclass(eq=False)
class Follower:
    """Runs the machine on every live function that reads the flag, and on those that read what it was stored in."""

    machine: Machine
    reach: Reach
    roots: list[Function] = field(default_factory=list)
    _ran: dict[Function, int] = field(default_factory=dict)
    _now: int = 1

    def follow(self, declared: list[Declaration]) -> None:
        """Until nothing new is met."""
        flag = self.machine.flag
        best = declared[0].rank
        for one in declared:
            if one.rank <= best + 1 and (one.owner or len(declared) == 1 or one.rank == best):
                step = Step(one.module, one.line, one.text, "declaration")
                amount = Amount(trail=(step,))
                self.machine.fields.setdefault(flag, []).append(Field(flag, amount, one.owner))
        self.machine.declared = tuple(held.owner for held in self.machine.fields[flag] if held.owner)
        self._chase(flag)
        self._settle()
        if self._applied():
            self._ran.clear()
            self._learn()
            self._chase(flag)
            self._settle()

    def _applied(self) -> bool:
        """Whether one write of the flag's own field could be taken into account: done to all, and to the value itself."""
        machine = self.machine
        written = machine.overrides
        amounts = {one.amount for one in written}
        if (
            len(amounts) != 1
            or any(one.guards or one.why for one in written)
            or not next(iter(amounts)).is_bare
        ):
            return False
        machine.applied = {(one.step.module.file, one.step.line) for one in written}
        for place, held in enumerate(machine.fields[machine.flag]):
            machine.fields[machine.flag][place] = replace(held, amount=written[0].amount)
        for met in (machine.allocations, machine.losses, machine.overrides):
            met.clear()
        machine.checks.clear()
        machine.found.clear()
        return True

    def _settle(self) -> None:
        """New fields, until there are none. Those that were met together are learned together: who reads several runs once."""
        while self.machine.found and len(self._ran) < _MOST_ROOTS and self.machine.budget > 0:
            found, self.machine.found = self.machine.found, []
            groups: list[list[Field]] = []
            takers = self._takers()
            while found:
                groups.append(self._new([one for one in found if _is_like(one, found[0])], takers))
                found = [one for one in found if not _is_like(one, found[0])]
            if any(groups):
                self._learn()
            for new in groups:
                if new:
                    self._chase(new[0].name, new)

    def _new(self, fields: list[Field], takers: _Takers) -> list[Field]:
        """Those that were not known, and that nothing has been allocated by; from now on they are known."""
        new: list[Field] = []
        for one in fields:
            known = self.machine.fields.setdefault(one.name, [])
            if any(other.amount == one.amount and _covers(other, one) for other in known):
                continue
            if not self._is_allocated(one, takers):
                known.append(one)
                new.append(one)
        return new

    def _takers(self) -> _Takers:
        """Who has taken memory by which site's amount: from which function, and whether only to keep track of it.

        What processes share says nothing of each.
        """
        found: _Takers = defaultdict(set)
        for one in self.machine.allocations:
            if one.amount.site is not None and not is_shared(one.step.text):
                found[one.amount.site].add((one.root, one.why == TRACKS))
        return found

    def _is_allocated(self, held: Field, takers: _Takers) -> bool:
        """By memory of its own, where it was stored or by what it was stored in: others that read it take no more.

        Of what a configuration holds, every reader may take some; of a share of memory, the others only tell how much of it
        there is.
        """
        site = held.amount.site
        return site is not None and any(
            root is held.root or self._is_own(held, root) or (held.amount.is_of_memory and not only_tracks)
            for root, only_tracks in takers.get(site, ())
        )

    def _is_own(self, held: Field, root: Function | None) -> bool:
        owner = root.owner if root else None
        return bool(owner and held.owner and self.machine.program.related(owner, held.owner))

    def _chase(self, name: str, held: Sequence[Field] = ()) -> None:
        """Run every function that reads it; what has been converted only until something is allocated by each of it."""
        reading = (
            function
            for module in self._nearest(name, held[0] if held else None)
            for function in module.functions_mentioning(name)
            if reads(function, name, written=name == self.machine.flag)
        )
        if not held or held[0].amount.site is None:
            self._run_around(*reading)
            return
        for function in islice(reading, _TRIED):
            takers = self._takers()
            if all(self._is_allocated(one, takers) for one in held):
                return
            self._run_around(function)

    def _nearest(self, name: str, held: Field | None) -> list[Module]:
        """The file that it was stored in first: what allocates by it mostly stands close by.

        Of a name that very many files mention, only its own class's file: anywhere else it is another's.
        """
        program = self.machine.program
        if held and held.amount.site is not None and len(program.files_mentioning(name)) > _COMMON:
            return [held.owner.module] if held.owner else []
        here = {step.module for step in held.amount.trail[-1:]} if held else set()
        return sorted(program.modules_mentioning(name), key=lambda one: one not in here)

    def _run_around(self, *functions: Function) -> None:
        """Whoever calls them is found for all of them first: what has to be followed is known before anything is run."""
        outermost = list(dict.fromkeys(map(_outermost, functions)))
        around = [(function, self._raised(function, _UP)) for function in outermost]
        for function, roots in around:
            for root in roots:
                self._run(root)
            if roots and function not in self.machine.entered:
                self._run(function)  # its callers hand it on to something that calls it later

    def _raised(self, function: Function, up: int) -> list[Function]:
        """A plain function is followed from its callers, who know what they give it; anything else from itself."""
        function = _outermost(function)
        if function.owner is not None and not {"staticmethod", "classmethod"} & set(function.decorators):
            return [function]
        callers = [
            one.caller for one in self.reach.callers(function) if one.caller and one.caller is not function
        ]
        dead = not callers and not self._is_beginning(function) and not self._is_of_the_arguments(function)
        if dead and not self.reach.is_live(function):
            return []  # nothing calls it
        if not callers or not up or self._is_beginning(function):
            return [function]
        if up == _UP and function not in self.machine.interesting and self._is_inert(function):
            return []
        self._follow_calls_of(function)
        raised = [root for caller in dict.fromkeys(callers) for root in self._raised(caller, up - 1)]
        return list(dict.fromkeys(raised))

    def _is_inert(self, function: Function) -> bool:
        """Whether it only tests or shows the value, whatever its callers give it: then nothing comes of them for it."""
        machine = self.machine
        found, machine.found, machine.vague = machine.found, [], False
        checks = len(machine.checks)
        try:
            with machine.probing():
                returned = Statements(machine).root(function)
        except Noticed:
            return False
        finally:
            machine.found = found
            machine.entered.discard(function)
            del machine.checks[checks:]
        return not machine.vague and all(
            isinstance(one, Const | Symbol | Foreign | Object) for one in returned
        )

    def _follow_calls_of(self, function: Function) -> None:
        """From now on, also without the value among their arguments."""
        if function not in self.machine.interesting:
            self.machine.interesting.add(function)
            self._learn()

    def _learn(self) -> None:
        """Something has become known: what was concluded without it is void."""
        self._now += 1
        self.machine.results.clear()

    def _is_beginning(self, function: Function) -> bool:
        package = self.machine.program.package
        return function.name in (*package.per_rank, *package.per_server)

    def _run(self, root: Function) -> None:
        """Again only where something has become known since."""
        if self._ran.get(root, 0) >= self._now or len(self._ran) >= _MOST_ROOTS:
            return
        self._ran[root] = self._now
        self._forget(root)
        found, self.machine.found = self.machine.found, []
        returned = amounts_in(Statements(self.machine).root(root))
        mattered = bool(self.machine.found or returned) or self._met_anything(root)
        if mattered and not self._is_of_the_arguments(root) and not self.reach.is_live(root):
            self._forget(root)  # nothing calls it: what it does, it does not do
            self.machine.found = found
            return
        self.machine.found = [*found, *self.machine.found]
        if root not in self.roots:
            self.roots.append(root)
        if returned:
            self._accessor(root, returned)

    def _is_of_the_arguments(self, root: Function) -> bool:
        """Methods of the class that declares the flag run before anything else does."""
        declared = [one.owner for one in self.machine.fields.get(self.machine.flag, ()) if one.owner]
        return root.owner is not None and any(
            self.machine.program.related(root.owner, one) for one in declared
        )

    def _met_anything(self, root: Function) -> bool:
        machine = self.machine
        return any(
            one.root is root
            for met in (machine.allocations, machine.losses, machine.overrides, machine.repeated)
            for one in met
        )

    def _forget(self, root: Function) -> None:
        """It is followed anew: what it met before would count twice."""
        machine = self.machine
        for met in (machine.allocations, machine.losses, machine.overrides, machine.repeated):
            met[:] = [one for one in met if one.root is not root]
        machine.checks[:] = [(one, node) for one, node in machine.checks if one.root is not root]

    def _accessor(self, root: Function, amounts: list[Amount]) -> None:
        """It gives the value to whoever calls it."""
        if {"property", "cached_property"} & set(root.decorators):
            for amount in amounts:
                self.machine.found.append(Field(root.name, amount, root.owner))
            return
        if root in self.machine.interesting:
            return
        self._follow_calls_of(root)
        callers = (mention.caller for mention in self.reach.callers(root))
        self._run_around(*(one for one in callers if one and one is not root))


def _outermost(function: Function) -> Function:
    while function.outer is not None:
        function = function.outer
    return function


def _is_like(one: Field, other: Field) -> bool:
    """Whether the same functions read both."""
    kind = (one.name, one.owner, one.variable_of, one.amount.site is None)
    return kind == (other.name, other.owner, other.variable_of, other.amount.site is None)


def _covers(known: Field, new: Field) -> bool:
    return known.variable_of is new.variable_of and (known.owner is None or known.owner is new.owner)
