"""Where the inventory lies."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fleetops.model.errors import UsageError

FLEET_FILE = "fleet.yaml"
PROFILES_FILE = "profiles.yaml"
VARIABLE = "FLEETOPS_INVENTORY"


def find_inventory(option: str | None, *, environ: Mapping[str, str], cwd: Path) -> Path:
    """The inventory's folder or file: the option, $FLEETOPS_INVENTORY, ./inventory, else the user's own.

    Raises UsageError that names every place that was looked in. A place that was named must exist; the others are
    passed over where they have no fleet.yaml, but not where that cannot be told: another fleet would be taken.
    """
    if option is not None:
        return _named(option, "--inventory", environ, cwd)
    if named := environ.get(VARIABLE):
        return _named(named, f"${VARIABLE}", environ, cwd)
    places = list(_usual_places(environ, cwd))
    for place in places:
        with told_as_usage(place):
            if _is_taken(place / FLEET_FILE):
                return place
    looked = ", ".join(f"{place}/{FLEET_FILE}" for place in places)
    raise UsageError(
        f"there is no inventory: no --inventory, no ${VARIABLE}, and none of {looked}",
        hint="write one: fleetops inventory example FOLDER; or try the simulated fleet: fleetops lab up",
    )


def _named(text: str, by: str, environ: Mapping[str, str], cwd: Path) -> Path:
    path = cwd / _expanded(text, environ)
    with told_as_usage(path):
        if not path.exists():
            raise UsageError(f"the inventory that {by} names does not exist: {path}")
    return path


@contextmanager
def told_as_usage(path: Path) -> Iterator[None]:
    """Looking at an inventory that may not be entered or read is a UsageError that names it."""
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"cannot look for an inventory in {path}: {error.strerror}",
            hint="name one that you may read: --inventory PATH",
        ) from error


def _is_taken(path: Path) -> bool:
    """Whether anything has that name, be it a link that leads nowhere."""
    return path.is_symlink() or path.exists()


def _expanded(text: str, environ: Mapping[str, str]) -> Path:
    home = environ.get("HOME")
    return Path(home, text[2:]) if home and text.startswith("~/") else Path(text)


def _usual_places(environ: Mapping[str, str], cwd: Path) -> Iterator[Path]:
    yield cwd / "inventory"
    if configured := environ.get("XDG_CONFIG_HOME"):
        yield Path(configured, "fleetops")
    elif home := environ.get("HOME"):
        yield Path(home, ".config", "fleetops")
