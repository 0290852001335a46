"""The cache folder: what can be made again. Everything in it may be deleted at any time."""

import os
import tempfile
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


def write_whole(path: Path, data: bytes) -> None:
    """Put a private file (0600) there, all of it or none, whoever else writes it at the same time. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    fresh = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
