"""A file that is there as a whole or not at all, whoever looks."""

import stat
from pathlib import Path

from fleetops.model.errors import FleetopsError
from fleetops.store.whole import write_whole

_PRIVATE = 0o600


def replace_file(path: Path, text: str) -> int:
    """Write it beside and move it over what is there, whose mode it keeps; private where nothing is. Returns its bytes.

    A link is followed. Raises FleetopsError where it cannot be written; what was there is then left as it was.
    """
    target = path.resolve()
    try:
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else _PRIVATE
        if target.exists() and not target.is_file():
            raise FleetopsError(f"cannot write {path}: it is no regular file")
        write_whole(target, text.encode(), mode=mode, synced=True)
        return target.stat().st_size
    except OSError as error:
        raise FleetopsError(
            f"cannot write {path}: {error.strerror}", hint="choose a folder that is there and can be written"
        ) from error
