"""Shared memory as the real engine leaves it in /dev/shm: unlinked on a clean end, left behind by SIGKILL."""

import os
import secrets
import string
from pathlib import Path

MIB = 2**20
_LETTERS = string.ascii_letters + string.digits


class Segments:
    """The segments of one process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[Path, int] = {}

    def make(self, name: str, size_mib: int) -> None:
        """A segment with its pages really there, kept open."""
        path = self._folder / name
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.posix_fallocate(descriptor, 0, size_mib * MIB)
        self._open[path] = descriptor

    def unlink(self) -> None:
        """What a clean end does."""
        for path in self._open:
            path.unlink(missing_ok=True)


def nccl_name() -> str:
    """As NCCL's mkstemp names it."""
    return "nccl-" + "".join(secrets.choice(_LETTERS) for _ in range(6))


def python_name() -> str:
    """As multiprocessing.shared_memory names it."""
    return f"psm_{secrets.token_hex(4)}"


def sglang_name(kind: str) -> str:
    """As SGLang names its own: kind, owner, something random."""
    return f"sgl_shm_{kind}_{os.getpid()}_{secrets.token_hex(4)}"
