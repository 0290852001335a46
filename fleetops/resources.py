"""Where the files that travel with the package lie: the shipped playbooks and the example inventory."""

from pathlib import Path
from typing import Literal

from fleetops.model.errors import FleetopsError

_PACKAGE = Path(__file__).resolve().parent


def resource_folder(name: Literal["playbooks", "inventory"]) -> Path:
    """The packaged folder `name`.

    An installed wheel carries it as `fleetops/_data/NAME`; a checkout has it at the top level, where
    an operator looks for it (pyproject.toml's force-include puts the one into the other).

    Raises:
        FleetopsError: the installation lacks it.
    """
    packed = _PACKAGE / "_data" / name
    if packed.is_dir():
        return packed
    checkout = _PACKAGE.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / name).is_dir():
        return checkout / name
    raise FleetopsError(
        f"this installation of fleetops lacks its {name} (looked in {packed})", hint="install it again"
    )
