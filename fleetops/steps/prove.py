"""What do the profile's numbers mean? Read from the source on the node that will run, right before it runs."""

from fleetops.model.errors import Refused
from fleetops.model.plan import PlannedStep
from fleetops.steps.support.base import Desk, Options, Situation, Skip, Step
from fleetops.steps.support.contending import refusal as contender_refusal
from fleetops.steps.support.launching import profile_of
from fleetops.steps.support.proof import changed, flags_to_prove, proven_words, refusal

_NOTHING = "no flag of {} takes host memory"


def plan(situation: Situation, _options: Options) -> PlannedStep:
    """The proofs that were read for this plan, and what of them would be refused."""
    profile = profile_of(situation)
    if not flags_to_prove(profile):
        return PlannedStep(
            step="prove",
            title="prove flags",
            host=situation.node_name,
            skip=_NOTHING.format(profile.name),
        )
    if not situation.proofs:
        return PlannedStep(
            step="prove",
            title="prove flags",
            host=situation.node_name,
            detail="read before a start; none is needed now",
        )
    refused = contender_refusal(situation, profile, sized=False) or refusal(situation, profile)
    return PlannedStep(
        step="prove",
        title="prove flags",
        host=situation.node_name,
        detail=_told(situation),
        blocked=refused.message if refused else "",
        guard=refused.guard if refused else "",
        mend=refused.hint if refused else "",
    )


def run(desk: Desk, _options: Options) -> str:
    """Proven anew unless the source is still the very same. Raises Refused (guard `proof`), also where a meaning is another now."""
    planned = desk.situation
    profile = profile_of(planned)
    if not flags_to_prove(profile):
        raise Skip(_NOTHING.format(profile.name))
    if beside := contender_refusal(planned, profile, sized=False):
        raise beside
    now = desk.prove()
    if refused := refusal(now, profile):
        raise refused
    other = changed(planned, now, profile)
    if other and "proof" not in now.waived:
        raise Refused(
            f"the source on {now.node_name} has changed since the plan was made: {other}",
            guard="proof",
            host=now.node_name,
            hint="run the same command again: it plans with what the source says now",
        )
    return _told(now)


def _told(situation: Situation) -> str:
    """The meanings, how the source was found where that needs a word, and the waiver."""
    profile = profile_of(situation)
    waived = situation.waived.get("proof")
    parts = (proven_words(situation, profile), situation.proof_note, f"waived: {waived}" if waived else "")
    return "; ".join(part for part in parts if part)


STEP = Step(
    name="prove",
    summary="what the profile's sizes mean, proven from the source on the node that will run",
    plan=plan,
    run=run,
    relaunches=True,
)
