"""A file for node_exporter's textfile collector: whoever reads it sees one sweep whole, never a part of one."""

import os
import stat
from pathlib import Path

from fleetops.model.errors import FleetopsError, UsageError
from fleetops.store.whole import write_whole

_READ_BY_ALL = 0o644


def must_be_writable(path: Path) -> None:
    """Raises UsageError where there can be no such file: before the first sweep, not after it."""
    if not path.parent.is_dir():
        raise UsageError(
            f"there is no folder {path.parent}",
            hint="name a file in node_exporter's --collector.textfile.directory",
        )
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise UsageError(f"{path.parent} may not be written into")
    # A link, a device or a pipe would be replaced by a file.
    if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
        raise UsageError(f"{path} is no ordinary file, and is not replaced by one")


def write_textfile(path: Path, text: bytes) -> None:
    """Put it there in one step, on the disk before it has its name. Raises FleetopsError; the old one then stays."""
    try:
        write_whole(path, text, mode=_READ_BY_ALL, synced=True)
    except OSError as error:
        raise FleetopsError(
            f"cannot write {path}: {error.strerror}; what stands there is of an earlier sweep"
        ) from error
