"""What is to be started for an inventory: its name, the whole command by absolute paths, and where it may write."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fleetops.inventory.find import FLEET_FILE
from fleetops.model.errors import UsageError
from fleetops.model.schedule import Schedule

_LONGEST_STEM = 40


@dataclass(frozen=True, kw_only=True)
class Program:
    """This very fleetops: its interpreter, and the folder that has the package where the interpreter alone would not find it."""

    interpreter: str
    package: str = ""


def schedule_name(inventory: Path) -> str:
    """`fleetops-sweep-FOLDER-` and six digits of the inventory's path: two of them never overwrite each other."""
    place = inventory.resolve()
    place = place.parent if place.name == FLEET_FILE else place
    stem = re.sub(r"[^A-Za-z0-9_.]+", "-", place.name.removesuffix(".yaml")).strip("-.")[:_LONGEST_STEM]
    digest = hashlib.sha256(str(place).encode("utf-8", "surrogateescape")).hexdigest()
    return f"fleetops-sweep-{stem or 'fleet'}-{digest[:6]}"


def make_schedule(
    program: Program,
    inventory: Path,
    *,
    hosts: Sequence[str] = (),
    every_s: float,
    deadline_s: float,
    textfile: Path | None = None,
    state: Path,
    cache: Path | None,
    environ: Mapping[str, str],
) -> Schedule:
    """A sweep of these hosts, as its user would run it from anywhere. Raises UsageError for a textfile without a folder."""
    if textfile is not None and not textfile.parent.is_dir():
        raise UsageError(f"--textfile {textfile}: there is no folder {textfile.parent}")
    environment = {"HOME": environ.get("HOME", ""), "FLEETOPS_STATE": str(state)}
    environment |= {"FLEETOPS_CACHE": str(cache)} if cache else {}
    environment |= {"PYTHONPATH": program.package} if program.package else {}
    options = ["--deadline", f"{deadline_s:g}s", *(["--textfile", str(textfile)] if textfile else [])]
    # -P: what lies in the current folder is not taken for a module.
    words = [program.interpreter, "-P", "-m", "fleetops", "sweep", "--inventory", str(inventory)]
    writable = [state, *([cache] if cache else []), *([textfile.parent] if textfile else [])]
    return Schedule(
        name=schedule_name(inventory),
        inventory=str(inventory),
        argv=(*words, *options, *hosts),
        environment={name: value for name, value in environment.items() if value},
        every_s=every_s,
        deadline_s=deadline_s,
        state=str(state),
        writable=tuple(dict.fromkeys(map(str, writable))),
        needs=tuple(filter(None, (program.interpreter, program.package, environ.get("HOME", "")))),
    )
