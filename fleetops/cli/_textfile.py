"""A file for node_exporter's textfile collector: whoever reads it sees one sweep whole, never a part of one."""

import os
import stat
import tempfile
from pathlib import Path

from fleetops.model.errors import FleetopsError, UsageError

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
    """Put it there in one step, on the disk before it has its name. Raises FleetopsError; the old one then stays.

    The draft lies beside it, since a name changes in one step within one file system only, and does not end in `.prom`,
    which node_exporter would read.
    """
    draft: Path | None = None
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".draft")
        draft = Path(name)
        with os.fdopen(descriptor, "wb") as file:
            file.write(text)
            file.flush()
            os.fchmod(descriptor, _READ_BY_ALL)
            os.fsync(descriptor)
        draft.replace(path)
        draft = None
        _sync_folder(path.parent)
    except OSError as error:
        raise FleetopsError(
            f"cannot write {path}: {error.strerror}; what stands there is of an earlier sweep"
        ) from error
    finally:
        if draft is not None:
            draft.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
