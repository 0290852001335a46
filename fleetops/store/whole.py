"""Files that are there as a whole or not at all, whoever looks or writes at the same time."""

import os
import tempfile
from pathlib import Path

_PRIVATE = 0o600


def write_whole(path: Path, data: bytes, *, mode: int = _PRIVATE, synced: bool = False) -> None:
    """Write it beside, and move it over what is there. Raises OSError; what was there is then left as it was.

    `synced`: it is on the disk, and so is its name, before this returns. The draft does not end as the file does: whoever
    reads all `*.prom` of a folder does not read it.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".draft")
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(descriptor, mode)
            if synced:
                os.fsync(descriptor)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    if synced:
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
