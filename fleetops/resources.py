"""Where the files that travel with the package lie: the shipped playbooks, the example inventory, what monitors."""

from pathlib import Path
from typing import Literal

from fleetops.model.errors import FleetopsError

_PACKAGE = Path(__file__).resolve().parent
# In a checkout; what is not named lies at the top level.
_ELSEWHERE = {"monitoring": "docs/monitoring"}


def resource_folder(name: Literal["playbooks", "inventory", "monitoring"]) -> Path:
    """The packaged folder `name`.

    An installed wheel carries it as `fleetops/_data/NAME`; a checkout has it at the top level or in
    docs/, where an operator looks for it (pyproject.toml's force-include puts the one into the other).

    Raises:
        FleetopsError: the installation lacks it.
    """
    packed = _PACKAGE / "_data" / name
    if packed.is_dir():
        return packed
    checkout = _PACKAGE.parent
    found = checkout / _ELSEWHERE.get(name, name)
    if (checkout / "pyproject.toml").is_file() and found.is_dir():
        return found
    raise FleetopsError(
        f"this installation of fleetops lacks its {name} (looked in {packed})", hint="install it again"
    )
