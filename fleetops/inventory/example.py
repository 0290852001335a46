"""The example inventory that travels with the package, written out for somebody to make it theirs."""

import os
from pathlib import Path

from fleetops.model.errors import UsageError
from fleetops.resources import resource_folder


def write_example(folder: Path) -> tuple[Path, ...]:
    """Copy the example's files into `folder`, which is made; the files written.

    Raises UsageError where one of them is there already (none is written then) or cannot be written.
    """
    sources = sorted(resource_folder("inventory").glob("*.yaml"))
    targets = tuple(folder / source.name for source in sources)
    if taken := [str(target) for target in targets if os.path.lexists(target)]:
        raise UsageError(f"{taken[0]} exists already, and nothing is overwritten", hint="name a new folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source, target in zip(sources, targets, strict=True):
            with target.open("xb") as file:
                file.write(source.read_bytes())
    except OSError as error:
        raise UsageError(f"cannot write the example into {folder}: {error.strerror}") from error
    return targets
