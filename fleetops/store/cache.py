"""The cache folder: what can be made again. Everything in it may be deleted at any time."""

from collections.abc import Mapping
from pathlib import Path


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    """$FLEETOPS_CACHE, else $XDG_CACHE_HOME/fleetops, else ~/.cache/fleetops; None where there is no home either."""
    if named := environ.get("FLEETOPS_CACHE"):
        return Path(named).absolute()
    if named := environ.get("XDG_CACHE_HOME"):
        return Path(named).absolute() / "fleetops"
    try:
        home = Path(environ.get("HOME") or "~").expanduser()
    except RuntimeError:
        return None
    return home.absolute() / ".cache/fleetops"
