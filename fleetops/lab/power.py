"""The power of a VM: held by its kvm process on the hypervisor, seen by the lab's supervisor. Standard library only.

All of it is one file in the VM's run folder, which its hypervisor sees too. The kvm process keeps the file open and
locked for its whole life, so that the kernel tells when it has ended, in whatever way; in the file stands which boot
of the guest it wants, nothing where it wants none.
"""

import contextlib
import fcntl
import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

_FILE = "power"
_HALTED = "halted"
_TRIES, _TRY_S = 20, 0.02


class Power:
    """The power of the VM with this run folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextlib.contextmanager
    def held(self) -> Iterator[int]:
        """Hold it, as a kvm process does; children inherit the hold. Raises BlockingIOError where another has it."""
        descriptor = os.open(self._folder / _FILE, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _lock(descriptor)
            os.ftruncate(descriptor, 0)
            yield descriptor
        finally:
            os.close(descriptor)

    @property
    def is_held(self) -> bool:
        """Whether a kvm process has it now."""
        try:
            descriptor = os.open(self._folder / _FILE, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def wanted(self) -> str:
        """The boot of the guest that shall run now, "" for none."""
        return (self._folder / _FILE).read_text() if self.is_held else ""

    def want(self, descriptor: int, *, on: bool) -> str:
        """By its holder: a fresh boot of the guest, or none."""
        boot = uuid.uuid4().hex if on else ""
        if boot:
            os.pwrite(descriptor, boot.encode(), 0)  # of constant length: a reader sees the old or the new
        else:
            os.ftruncate(descriptor, 0)
        return boot

    def tell_halted(self, boot: str) -> None:
        """By the supervisor: the guest has ended that boot by itself."""
        (self._folder / _HALTED).write_text(boot)

    def has_halted(self, boot: str) -> bool:
        """Whether the guest has ended that boot by itself."""
        with contextlib.suppress(FileNotFoundError):
            return (self._folder / _HALTED).read_text() == boot
        return False


def _lock(descriptor: int) -> None:
    """Whoever looks whether it is held has it for a moment too."""
    for left in reversed(range(_TRIES)):
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not left:
                raise
            time.sleep(_TRY_S)
    raise AssertionError
