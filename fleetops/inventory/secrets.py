"""The secrets that an inventory's profiles hold: they are known as such, and taken out of whatever is handed on."""

import re

from fleetops.model.fleet import Inventory
from fleetops.model.secrets import looks_secret

_KEY = re.compile(r"(?i)(^|_)(key|pass|pwd|pin)$")


def known_secrets(inventory: Inventory) -> tuple[str, ...]:
    """Values of environment variables and flags whose names say that they are secret."""
    found: set[str] = set()
    for profile in inventory.profiles.values():
        found |= {
            value for name, value in profile.environment.items() if looks_secret(name) or _KEY.search(name)
        }
        found |= {str(flag.value) for flag in profile.flags if looks_secret(flag.name)}
    return tuple(sorted(found))
