"""What a node starts by itself when it comes up again: an enabled unit, a container that its runtime starts at every boot."""

from fleetops.engines.attribution import attribute
from fleetops.model.supervisor import SUPERVISORS, Supervisor
from fleetops.steps.stop_service import STEP as STOP_SERVICE
from fleetops.steps.support.base import Desk, Situation
from fleetops.steps.support.contending import to_stop

# A manager that is up starts its units within seconds; Docker takes a little longer.
_COMES_WITHIN_S = 30.0
# Where a silent node did not tell what it has.
_MAY_COME_WITHIN_S = 10.0
_POLL_S = 1.0


def stop_again(desk: Desk) -> str:
    """Stop it through itself, before anything rests on the node being empty; what was stopped, "" where nothing came.

    Where the service had such a supervisor when the run began, it is waited for. Raises Refused where what has come cannot
    be shown to be the service's.
    """
    until = desk.now() + _within_s(desk.situation)
    while not _is_there(desk.look()):
        if desk.now() >= until:
            return ""
        desk.wait(_POLL_S)
    desk.tell("the node has started the service by itself")
    return STOP_SERVICE.run(desk, STOP_SERVICE.settle({}))


def _within_s(situation: Situation) -> float:
    if situation.before.node_facts.value(SUPERVISORS) is None:
        return _MAY_COME_WITHIN_S
    comes = any(map(_starts_at_boot, attribute(situation.before).supervisors))
    return _COMES_WITHIN_S if comes else 0.0


def _starts_at_boot(one: Supervisor) -> bool:
    if one.unit:
        return one.unit.enabled.startswith("enabled")
    return one.container is not None and one.container.restart in {"always", "unless-stopped"}


def _is_there(situation: Situation) -> bool:
    return bool(situation.attribution.living or to_stop(situation))
