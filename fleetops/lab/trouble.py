"""What the lab can have wrong with a host beside its driver: marks in its run folder. Standard library only.

The host's own programs, its hypervisor's commands and the SSH server look for them; breakages set them.
"""

from enum import StrEnum
from pathlib import Path


class Mark(StrEnum):
    """One kind of trouble: the name of a file in the host's run folder.

    MUTE: sshd takes connections and says nothing, until the host is started again.
    NEVER_RETURNS: from its next start on nothing answers.
    DEAD: it was started so, or a kill has left only its first process.
    IMPOSTOR: its port leads to the host that the file names.
    STOP_LIES: the stop of this VM succeeds and its kvm lives on.
    STOP_BLOCKS: the stop of this container never comes back.
    """

    MUTE = "mute"
    NEVER_RETURNS = "never-returns"
    DEAD = "dead"
    IMPOSTOR = "impostor"
    STOP_LIES = "stop-lies"
    STOP_BLOCKS = "stop-blocks"


def has(folder: Path, mark: Mark) -> bool:
    """Whether the host with that run folder has this trouble."""
    return (folder / mark).exists()


def told(folder: Path, mark: Mark) -> str:
    """What the mark says; "" where it is not there."""
    try:
        return (folder / mark).read_text().strip()
    except FileNotFoundError:
        return ""


def put(folder: Path, mark: Mark, text: str = "") -> None:
    """Set a mark, at once and whole."""
    fresh = folder / f".{mark}"
    fresh.write_text(text)
    fresh.rename(folder / mark)


def remove_all(folder: Path) -> None:
    """No trouble any more."""
    for mark in Mark:
        (folder / mark).unlink(missing_ok=True)


def begin(folder: Path) -> None:
    """What a start of the host makes of them."""
    (folder / Mark.MUTE).unlink(missing_ok=True)
    (folder / Mark.DEAD).unlink(missing_ok=True)
    if has(folder, Mark.NEVER_RETURNS):
        put(folder, Mark.DEAD)
