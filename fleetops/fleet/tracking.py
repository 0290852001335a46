"""From sightings to findings that can be relied on: firm after some sweeps, clear after some, flapping said as flapping."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from fleetops.model.finding import Finding, Severity
from fleetops.model.sweep import KEPT, SILENCES, HostSweep, Sighting, Tracked

Key = tuple[str, str, str]
# With one of these a host has told nothing of itself: nobody answered, or another machine did.
_BLIND = (*SILENCES, "wrong-machine")


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How many sweeps it takes.

    Attributes:
        firm, of: seen in `firm` of the latest `of` sweeps that could tell, a finding is firm; a latched one at once.
        clear: not seen in so many in a row that could tell, it is clear.
    """

    firm: int = 2
    of: int = 3
    clear: int = 2


def track(
    known: Iterable[Tracked],
    hosts: Iterable[HostSweep],
    *,
    latched: frozenset[str],
    rules: Rules = Rules(),
) -> tuple[Tracked, ...]:
    """What each finding is after this sweep: those of before, and those that are new. A host not asked stays as it was.

    What cannot be told (its host was silent, its check lacks a fact) is neither seen nor gone.
    """
    asked = {host.name: host for host in hosts}
    before = {one.key: one for one in known}
    seen = {
        key: (host, finding) for host in asked.values() for key, finding in _by_key(host.findings).items()
    }
    after: list[Tracked] = []
    for key in {**before, **seen}:
        if key[0] not in asked:
            after.append(before[key])
        elif key in seen:
            host, finding = seen[key]
            after.append(_seen(before.get(key), finding, host.at, latched, rules))
        else:
            after.append(_not_seen(before[key], asked[key[0]], rules))
    return tuple(after)


def _by_key(findings: Iterable[Finding]) -> Mapping[Key, Finding]:
    return {(one.host, one.check, one.subject): one for one in findings}


def _seen(
    before: Tracked | None, finding: Finding, at: float, latched: frozenset[str], rules: Rules
) -> Tracked:
    if before is None or before.cleared_at is not None:
        old = before.sightings if before else ""
        now = Tracked(finding=finding, first_seen=at, last_seen=at, sightings=_add(old, Sighting.SEEN))
    else:
        now = replace(
            before,
            finding=finding,
            last_seen=at,
            count=before.count + 1,
            sightings=_add(before.sightings, Sighting.SEEN),
        )
    often = now.told[-rules.of :].count(Sighting.SEEN) >= rules.firm
    latches = finding.check in latched and finding.severity is not Severity.UNKNOWN
    firm = now.firm or latches or often
    return replace(now, firm=firm)


def _not_seen(before: Tracked, host: HostSweep, rules: Rules) -> Tracked:
    if before.cleared_at is not None:
        return replace(before, sightings=_add(before.sightings, Sighting.GONE))
    if _cannot_tell(before.finding, host):
        return replace(before, sightings=_add(before.sightings, Sighting.UNTOLD))
    now = replace(before, sightings=_add(before.sightings, Sighting.GONE))
    # One that never was firm needs no patience to be gone.
    if not before.firm or now.told.endswith(Sighting.GONE * rules.clear):
        return replace(now, firm=False, cleared_at=host.at)
    return now


def _cannot_tell(finding: Finding, host: HostSweep) -> bool:
    if finding.check not in _BLIND and any(one.check in _BLIND for one in host.findings):
        return True
    unknown = {one.check for one in host.findings if one.severity is Severity.UNKNOWN}
    return finding.severity is not Severity.UNKNOWN and finding.check in unknown


def _add(sightings: str, one: Sighting) -> str:
    return (sightings + one)[-KEPT:]
