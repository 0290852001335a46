"""What a power-cycle leaves on the hypervisor for a run that has to go on: its claims' names, and the life that it ended."""

import json
from dataclasses import asdict

from fleetops.steps.support.comeback import Life

STOP, START = "power-cycle-stop", "power-cycle-start"


def note_of(life: Life, guest_id: int | None) -> str:
    """One line that stays with the claim of the stop."""
    return json.dumps({"guest": guest_id, "life": asdict(life)})


def guest_in(note: str) -> int | None:
    """The guest that was stopped; None where the note does not tell."""
    try:
        found = json.loads(note)["guest"]
    except (ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, int) else None


def life_in(note: str) -> Life | None:
    """The life that was ended; None where the note does not tell."""
    try:
        return Life(**json.loads(note)["life"])
    except (ValueError, KeyError, TypeError):
        return None
