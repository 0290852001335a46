"""Checks that other packages bring, by the entry point group `fleetops.checks`; sweeps ask them as they ask the shipped ones.

What one cannot say is unknown, on every host that it is for, and never an end of the sweep: a package that cannot be loaded,
a judgement that fails, an answer that is none.
"""

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, TypeVar

from fleetops.checks import all_checks, fleet_checks, hypervisor_checks
from fleetops.checks.support.another import another
from fleetops.inventory.packages import Offer, Unloadable, offers, said, said_where
from fleetops.model.command import Command, Outcome
from fleetops.model.errors import FleetopsError
from fleetops.model.fact import Absent, Fact, Key, Unanswered, Unparsable
from fleetops.model.finding import Check, Finding, FleetCheck, HypervisorCheck, Observation, Severity
from fleetops.model.package_check import PackageCheck
from fleetops.model.sight import HypervisorSight
from fleetops.ssh import quote

GROUP = "fleetops.checks"
UNUSABLE = "package:"
"""Before the name of a package whose check cannot be used: the finding that says so is of that check."""

AnyCheck = Check | HypervisorCheck | FleetCheck
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class PackageChecks:
    """What all installed packages bring."""

    brought: tuple[PackageCheck, ...] = ()

    @property
    def checks(self) -> tuple[AnyCheck, ...]:
        """All of them, whatever they are of."""
        return tuple(one.check for one in self.brought)

    def reads(self, shipped: Iterable[Fact[Any]], *, hypervisor: bool) -> list[Fact[Any]]:
        """What they need on a host beyond what is read there anyway."""
        known = {fact.key.name for fact in shipped}
        found: dict[str, Fact[Any]] = {}
        for one in self.brought:
            if isinstance(one.check, HypervisorCheck) is hypervisor:
                for fact in one.reads:
                    found.setdefault(fact.key.name, fact)
        return [fact for name, fact in found.items() if name not in known]

    def judge(self, observation: Observation) -> list[Finding]:
        """What they conclude of a node; nothing of one that is silent, or as which another machine answers."""
        return [] if observation.silence or another(observation) else self._of(Check, observation)

    def judge_hypervisor(self, sight: HypervisorSight) -> list[Finding]:
        """The same of a Proxmox host."""
        return [] if sight.facts.silence else self._of(HypervisorCheck, sight)

    def judge_fleet(self, observations: Iterable[Observation]) -> list[Finding]:
        """The same of nodes beside each other."""
        return self._of(FleetCheck, [one for one in observations if not another(one)])

    def _of(self, kind: type[AnyCheck], seen: Any) -> list[Finding]:
        return [finding for check in self.checks if isinstance(check, kind) for finding in check.judge(seen)]


@cache
def package_checks() -> PackageChecks:
    """Those of the installed packages, loaded at the first sweep."""
    found = offers(GROUP, "check", {one.name for one in _shipped()})
    return PackageChecks(brought=tuple(brought(offer) for offer in found))


def every_check() -> tuple[AnyCheck, ...]:
    """All that a sweep asks but the operator's own: the shipped ones, and those of packages."""
    return (*_shipped(), *package_checks().checks)


def _shipped() -> tuple[AnyCheck, ...]:
    return (*all_checks(), *hypervisor_checks(), *fleet_checks())


def brought(offer: Offer) -> PackageCheck:
    """The check of a package, or one in its place that says on every node why there is none."""
    try:
        found = offer.load()
    except Unloadable as error:
        return _unusable(offer, str(error))
    if wrong := _fault(found, offer.name):
        return _unusable(offer, f"cannot be used: {offer.place} {wrong}")
    package_check: PackageCheck = found
    return PackageCheck(
        check=replace(package_check.check, judge=partial(_judged, offer, package_check.check.judge)),
        reads=tuple(replace(fact, parse=partial(_parsed, fact.parse)) for fact in package_check.reads),
    )


def _fault(found: Any, name: str) -> str:
    if not isinstance(found, PackageCheck):
        return f"is no fleetops.model.package_check.PackageCheck, but {type(found).__name__}"
    check: Any = found.check
    if not isinstance(check, Check | HypervisorCheck | FleetCheck):
        return f"has as its check {type(check).__name__}"
    if check.name != name:
        return f"calls itself {check.name}"
    reads: Any = found.reads
    if not isinstance(reads, tuple):
        return f"has as its reads {type(reads).__name__}, and no tuple"
    return next(filter(None, map(_wrong_read, reads)), "")


def _wrong_read(fact: Any) -> str:
    if not isinstance(fact, Fact):
        return f"reads what is no Fact, but {type(fact).__name__}"
    command: Any = fact.command
    if not isinstance(fact.key, Key) or not isinstance(command, Command) or not callable(fact.parse):
        return "reads a Fact without a Key, a Command or something that parses"
    if not isinstance(command.argv, tuple) or not all(isinstance(word, str) for word in command.argv):
        return f"reads {fact.key.name} by an argv that is no tuple of words"
    try:
        quote.check(command)
    except FleetopsError as error:
        return f"reads {fact.key.name} by a command that nobody can run: {error.message}"
    return ""


def _judged(offer: Offer, judge: Callable[[Any], Iterable[Finding]], seen: Any) -> list[Finding]:
    """A defect in a package's check is told as its own, of each host that it was to judge."""
    hosts = list(_hosts(seen))
    try:
        with redirect_stdout(sys.stderr):  # what it prints is no part of what fleetops says
            told = _findings(judge(seen), hosts)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is somebody else's, and nothing is known
        why = f"has failed: {said_where(error)}"
        return [_not_known(offer, offer.name, host, why) for host in hosts]
    return [replace(one, check=offer.name) for one in told]


def _findings(told: Iterable[Any], hosts: Collection[str]) -> list[Finding]:
    """Those that can be shown and kept. Raises TypeError or ValueError."""
    found = list(told)
    for one in found:
        if not isinstance(one, Finding):
            raise TypeError(f"it gives {type(one).__name__}, which is no Finding")
        if one.host not in hosts:
            raise ValueError(f"it speaks of {one.host!r}, which it was not shown")
        severity: Any = one.severity
        if not isinstance(severity, Severity):
            raise TypeError(f"a severity is {severity!r}")
        for text in (one.subject, one.evidence, one.next):
            if not isinstance(text, str):
                raise TypeError(f"a text of a finding is {type(text).__name__}")
            text.encode()
    return found


def _parsed(parse: Callable[[Outcome], T], outcome: Outcome) -> T:
    try:
        return parse(outcome)
    except (Absent, Unanswered, Unparsable, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise Unparsable(said(error)) from error


def _unusable(offer: Offer, why: str) -> PackageCheck:
    name = f"{UNUSABLE}{offer.project}"

    def judge(seen: Observation) -> list[Finding]:
        return [_not_known(offer, name, host, why) for host in _hosts(seen)]

    return PackageCheck(check=Check(name=name, title=f"{offer.told} can be asked", judge=judge))


def _not_known(offer: Offer, check: str, host: str, why: str) -> Finding:
    return Finding(
        host=host,
        check=check,
        severity=Severity.UNKNOWN,
        subject=f"{offer.name or offer.project} not known",
        evidence=f"{offer.told} {why}",
        next=f"mend or remove the package {offer.project}",
    )


def _hosts(seen: Observation | HypervisorSight | Sequence[Observation]) -> Iterator[str]:
    """The hosts that a check is shown."""
    if isinstance(seen, Observation):
        yield seen.node.name
    elif isinstance(seen, HypervisorSight):
        yield seen.hypervisor.name
    else:
        for one in seen:
            yield one.node.name
