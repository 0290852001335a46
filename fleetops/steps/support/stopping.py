"""Ending a service that this very run has started and that did not come up."""

from fleetops.model.errors import FleetopsError
from fleetops.model.plan import Action
from fleetops.steps.support.base import Desk
from fleetops.steps.support.launching import Started
from fleetops.steps.support.signals import signal_command


def end_own_service(desk: Desk, started: Started) -> None:
    """KILL what belongs to the start that failed; what cannot be reached any more is said, not hidden."""
    node = desk.situation.node_name
    try:
        found = desk.look().attribution.living
        if found:
            desk.tell(f"ending what was started ({len(found)} processes)")
            desk.restore(
                Action(host=node, command=signal_command("KILL", found), why=f"end pid {started.pid}")
            )
    except FleetopsError as error:
        desk.tell(f"what was started (pid {started.pid}) could not be ended: {error.message}")
