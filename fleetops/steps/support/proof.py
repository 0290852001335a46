"""What a profile says its flags mean, beside what the source that will run shows: whether that may be launched on."""

from collections.abc import Iterator
from dataclasses import dataclass

from fleetops.engines import engines
from fleetops.model.errors import Refused
from fleetops.model.fleet import Flag, Profile
from fleetops.model.proof import Explanation
from fleetops.model.sizing import UNIT_BYTES
from fleetops.source.packages import packages
from fleetops.steps.support.base import Situation

# What an operator must see to believe it: where the flag is declared, and where its number becomes bytes.
_DECISIVE = ("declaration", "arithmetic")


def flags_to_prove(profile: Profile) -> tuple[Flag, ...]:
    """The flags that take host memory, those that act by their default included, and all that are stated as sizes.

    What is stated in bytes and is no flag of this engine (another engine's, say) is thus looked for in its source, too.
    """
    engine = next((one for one in engines() if one.name == profile.engine), None)
    taking = engine.host_memory_flags(profile) if engine else ()
    sized = (flag for flag in profile.flags if flag.unit in UNIT_BYTES)
    return tuple({flag.name: flag for flag in (*taking, *sized)}.values())


def overruled(situation: Situation, profile: Profile) -> frozenset[str]:
    """The flags of which the profile's own words count, though the source says otherwise: that was waived."""
    if "proof" not in situation.waived:
        return frozenset()
    proofs = situation.proofs
    return frozenset(
        flag.name
        for flag in flags_to_prove(profile)
        if flag.name in proofs and contradictions(flag, proofs[flag.name], profile)
    )


def contradictions(flag: Flag, proof: Explanation, profile: Profile) -> tuple[str, ...]:
    """Which of `unit` and `scope` the profile states otherwise than they are proven."""
    if profile.flag(flag.name) is None or not proof.is_proven:
        return ()
    both = {"unit": (flag.unit, proof.unit), "scope": (flag.scope, proof.scope)}
    return tuple(name for name, (said, shown) in both.items() if said is not None and said != shown)


def refusal(situation: Situation, profile: Profile) -> Refused | None:
    """Why this may not be launched as proofs go; None where it may, or where the operator has waived `proof`."""
    if "proof" in situation.waived:
        return None
    objections = [one for flag in flags_to_prove(profile) if (one := _objection(flag, situation, profile))]
    if not objections:
        return None
    lines = (*(line for one in objections for line in one.shown), "; ".join(one.told for one in objections))
    return Refused(
        "\n  ".join((f"{profile.name} is not launched on {situation.node_name}:", *lines)),
        guard="proof",
        host=situation.node_name,
        hint="; ".join(dict.fromkeys(one.mend for one in objections)),
    )


@dataclass(frozen=True)
class _Objection:
    """Against one flag: the proof, where there is one to see, what is wrong in one line, and what to do about it."""

    shown: tuple[str, ...]
    told: str
    mend: str


def _objection(flag: Flag, situation: Situation, profile: Profile) -> _Objection | None:
    """None where what is proven is what the profile states, or where it states nothing."""
    name, node = flag.name, situation.node_name
    proof = situation.proofs.get(name)
    explain = f"`fleetops explain {name} {node}` shows the whole trail"
    launch = f"fleetops launch --profile {profile.name} {node}"
    if proof is None:
        return _Objection((), f"what {name} means has not been read from the source on {node}", explain)
    if proof.verdict == "no-such-flag":
        told = "; ".join((f"{release_of(proof)} on {node} has no flag {name}", *proof.notes))
        return _Objection((), told, f"mend the flag's name or its engine in profile {profile.name}")
    if not proof.is_proven:
        why = proof.unproven_because or "the trail is lost"
        told = f"what {name} means in {release_of(proof)} is not proven: {why}"
        mend = f'{explain}; `{launch} --waive proof="reason"` takes the profile\'s word'
        return _Objection(tuple(trail(proof)), told, mend)
    if not contradictions(flag, proof, profile):
        return None
    claim, found = spoken(flag.unit, flag.scope), spoken(proof.unit, proof.scope)
    shown = (
        f"{name}  profile {profile.name} says {claim}",
        f"{' ' * len(name)}  {release_of(proof)} on {node} says {found}",
        *trail(proof),
    )
    meaning = f"{{value: ..., unit: {proof.unit}, scope: {proof.scope}}}"
    mend = f"write {meaning} for {name} in profile {profile.name}, with the number that fits, then `{launch}`; {explain}"
    return _Objection(shown, f"{name} is {found}, and the profile says {claim}", mend)


def changed(before: Situation, after: Situation, profile: Profile) -> str:
    """Which flag's meaning is another one than was planned with; "" where none is."""
    for flag in flags_to_prove(profile):
        old, new = before.proofs.get(flag.name), after.proofs.get(flag.name)
        if old and new and old.is_proven and _essence(old) != _essence(new):
            now = spoken(new.unit, new.scope) if new.is_proven else new.verdict
            return f"{flag.name} was {spoken(old.unit, old.scope)}, and is {now} now"
    return ""


def _essence(proof: Explanation) -> tuple[object, ...]:
    """What a size rests on."""
    return proof.verdict, proof.unit, proof.scope, proof.simultaneous


def trail(proof: Explanation) -> Iterator[str]:
    """The decisive lines of a proof, aligned: `file:line  the line  what happens there`."""
    sizes = [(pool.file, pool.line) for pool in proof.pools]
    last = max(
        (at for at, place in enumerate(proof.proof) if (place.file, place.line) in sizes), default=None
    )
    way = proof.proof if last is None else proof.proof[: last + 1]
    places = [place for place in way if place.role in _DECISIVE] or list(proof.proof)
    rows = [(f"{place.file}:{place.line}", place.text, place.note) for place in places]
    width = max((len(where) for where, _, _ in rows), default=0)
    for where, text, note in rows:
        yield f"  {where:<{width}}  {text}" + (f"    {note}" if note else "")
    if proof.scope_why:
        yield f"  scope: {proof.scope_why}"


def trails(situation: Situation, profile: Profile) -> Iterator[str]:
    """For each flag that is proven, what it means and the lines that show it."""
    for flag in flags_to_prove(profile):
        proof = situation.proofs.get(flag.name)
        if proof and proof.is_proven:
            yield f"{flag.name} is {spoken(proof.unit, proof.scope)}, proven from {release_of(proof)}:"
            yield from trail(proof)


def proven_words(situation: Situation, profile: Profile) -> str:
    """`hicache_size: GB per rank, proven`, for each flag; what is not proven says so. "" where nothing was read."""
    if not situation.proofs:
        return ""
    return "; ".join(_words(flag, situation) for flag in flags_to_prove(profile))


def _words(flag: Flag, situation: Situation) -> str:
    proof = situation.proofs.get(flag.name)
    if proof and proof.is_proven:
        return f"{flag.name}: {spoken(proof.unit, proof.scope)}, proven"
    return f"{flag.name}: not proven, the profile says {spoken(flag.unit, flag.scope)}"


def release_of(proof: Explanation) -> str:
    """`SGLang 0.5.9`."""
    return f"{title_of(proof.engine)} {proof.version}".rstrip()


def title_of(engine: str) -> str:
    """The engine as its makers write it."""
    return next((one.title for one in packages() if one.name == engine), engine)


def spoken(unit: str | None, scope: str | None) -> str:
    """`GB per rank`; only what is stated, `nothing` where neither is."""
    return " ".join(part for part in (unit, (scope or "").replace("-", " ")) if part) or "nothing"
