"""A file that is there as a whole or not at all, whoever looks."""

import os
import stat
from pathlib import Path
from tempfile import NamedTemporaryFile

from fleetops.model.errors import FleetopsError

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
        with NamedTemporaryFile(
            "w", dir=target.parent, prefix=f".{target.name}.", encoding="utf-8", delete=False
        ) as file:
            beside = Path(file.name)
            try:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
                os.fchmod(file.fileno(), mode)
                beside.replace(target)
            except BaseException:
                beside.unlink(missing_ok=True)
                raise
        return target.stat().st_size
    except OSError as error:
        raise FleetopsError(
            f"cannot write {path}: {error.strerror}", hint="choose a folder that is there and can be written"
        ) from error
