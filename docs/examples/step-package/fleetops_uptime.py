"""A step that goes on only where the node has been up for a while."""

from fleetops.model.errors import Refused
from fleetops.model.machine import IDENTITY
from fleetops.model.plan import PlannedStep
from fleetops.steps.support.base import Desk, Options, OptionSpec, Situation, Step


def plan(situation: Situation, options: Options) -> PlannedStep:
    """What it would do, from the present facts alone."""
    return PlannedStep(
        step="least-uptime",
        title="look at the uptime",
        host=situation.node_name,
        detail=f"at least {options.seconds('least'):g} s",
    )


def run(desk: Desk, options: Options) -> str:
    """What was seen, in a few words; Refused ends the run before anything else is done."""
    identity = desk.look().observation.node_facts.value(IDENTITY)
    up_s = identity.uptime_s if identity else 0.0
    if up_s < options.seconds("least"):
        node = desk.situation.node_name
        raise Refused(f"{node} has been up for {up_s:.0f} s only", guard="least-uptime", host=node)
    return f"up for {up_s:.0f} s"


STEP = Step(
    name="least-uptime",
    summary="refuse to go on where the node has just come up",
    plan=plan,
    run=run,
    options={"least": OptionSpec(kind="duration", default=600, meaning="how long it must have been up")},
)
