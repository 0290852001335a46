"""Does it fit? Ranks x flag, reserve and floor against what the node, its cgroup and its hypervisor have."""

from fleetops.model.errors import Refused
from fleetops.model.plan import PlannedStep
from fleetops.model.sizing import Budget, Verdict
from fleetops.steps.support.base import Desk, Options, Situation, Step
from fleetops.steps.support.launching import budget_for, profile_of
from fleetops.steps.support.proof import proven_words, trails


def plan(situation: Situation, _options: Options) -> PlannedStep:
    """The arithmetic as things stand; for a node that is not clean yet, with what comes back."""
    profile, found = profile_of(situation), budget_for(situation)
    refused = _refusal(found, situation)
    return PlannedStep(
        step="size",
        title=f"size {profile.name}",
        host=situation.node_name,
        detail=_told(found, situation),
        blocked=refused.message if refused else "",
        guard="size" if refused else "",
        mend=refused.hint if refused else "",
    )


def run(desk: Desk, _options: Options) -> str:
    """Refused (guard `size`) with the whole arithmetic and the number to use, unless waived with a reason."""
    situation = desk.look()
    found = budget_for(situation)
    if refused := _refusal(found, situation):
        raise refused
    return _told(found, situation)


def _told(found: Budget, situation: Situation) -> str:
    """The arithmetic, what it rests on, and the waiver where one is needed."""
    meaning = proven_words(situation, profile_of(situation))
    told = f"{found.summary}   ({meaning})" if meaning else found.summary
    waived = situation.waived.get("size")
    return f"{told}; waived: {waived}" if waived and found.verdict is not Verdict.FITS else told


def _refusal(found: Budget, situation: Situation) -> Refused | None:
    if found.verdict is Verdict.FITS or "size" in situation.waived:
        return None
    profile = profile_of(situation)
    lines = "\n".join(f"  {line}" for line in (*trails(situation, profile), *found.explain()))
    return Refused(
        f"{profile.name} is not launched on {situation.node_name}:\n{lines}",
        guard="size",
        host=situation.node_name,
        hint=_mend(found, situation),
    )


def _mend(found: Budget, situation: Situation) -> str:
    """The number to use, where it goes, and the command to type then."""
    profile = profile_of(situation)
    numbers = [f"{one.name.replace('_', '-')} to {one.fits}" for one in found.sizes if one.fits]
    if found.verdict is Verdict.UNKNOWN or not numbers:
        return f"see the profile {profile.name}; `fleetops probe {situation.node_name}` shows what is free"
    again = f"fleetops launch --profile {profile.name} {situation.node_name}"
    return (
        f"set {' and '.join(numbers)} in profile {profile.name}, then {again}; or launch a profile that fits"
    )


STEP = Step(
    name="size",
    summary="does the launch fit into the node's memory: the arithmetic, and the largest number that would",
    plan=plan,
    run=run,
    relaunches=True,
)
