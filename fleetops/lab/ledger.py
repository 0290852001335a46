"""Who has taken what memory of a driver: one file for each process, open and locked while its owner lives.

Standard library only; `fleetops.lab.driver` says how it works. A taker keeps its file open and locked (flock) for its
whole life. The kernel drops the lock when the last thread of the last process that has the file is gone, across pid
namespaces; so whether a lock can be had tells whether the owner is entirely dead. A dead owner's entry is deleted, its
memory free again, unless it is marked as leaked: that memory stays gone until a reset of one of its GPUs; some only
until a reset while its guest is stopped.
"""

import contextlib
import fcntl
import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

GUEST_FILE = Path("/run/lab/guest")
HOST = "host"
DRIVER_FOLDER = Path("/run/lab/driver")

_ENTRY_BYTES = 2048
_READ_TRIES = 5


@dataclass(frozen=True)
class Holding:
    """What one process has taken.

    Attributes:
        guest: the guest's id as text, or `host`.
        pid: the owner's pid in its own pid namespace.
        host_bytes: pinned host memory, which shows in no process.
        gpu_mib: memory taken on each GPU, by minor.
        leak: it outlives its owner, until a reset.
        until_stop: only a reset while the guest is stopped frees it.
        alive: the owner, or a thread of it, still lives.
    """

    guest: str
    pid: int
    comm: str
    host_bytes: int
    gpu_mib: Mapping[int, int]
    leak: bool
    alive: bool
    until_stop: bool = False


@dataclass(frozen=True)
class Totals:
    """Sums over all holdings: host bytes by guest, MiB by GPU minor."""

    host_bytes: Mapping[str, int] = field(default_factory=dict)
    gpu_mib: Mapping[int, int] = field(default_factory=dict)


class Entry:
    """A process's own ledger entry, open and locked. Leaving it as a context gives everything back."""

    def __init__(self, path: Path, descriptor: int, record: dict[str, Any]) -> None:
        self.path = path
        self._descriptor = descriptor
        self._record = record

    def set(
        self,
        *,
        host_bytes: int | None = None,
        gpu_mib: Mapping[int, int] | None = None,
        leak: bool | None = None,
    ) -> None:
        """Say what is taken now; what is left out stays as it was."""
        if host_bytes is not None:
            self._record["host_bytes"] = host_bytes
        if gpu_mib is not None:
            self._record["gpu_mib"] = _as_keys(gpu_mib)
        written = _read_record(self._descriptor) or self._record
        self._record["leak"] = written["leak"] if leak is None else leak  # another may have marked it
        _write_record(self._descriptor, self._record)

    def close(self) -> None:
        """Give everything back, as a process that ends cleanly does."""
        self.path.unlink(missing_ok=True)
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Ledger:
    """Who has taken what, in one driver's folder."""

    def __init__(self, folder: Path = DRIVER_FOLDER) -> None:
        self._folder = folder / "ledger"

    def take(self, comm: str, *, guest: str | None = None) -> Entry:
        """A new entry for the calling process, empty at first. `guest` None: the host this runs in.

        Fork first, take after: a child that inherits the open file keeps the entry alive.
        """
        record = _record(comm, guest or current_guest())
        path = self._folder / f"{record['guest']}-{os.getpid()}-{time.monotonic_ns():x}.json"
        hidden = path.with_name(f".{path.name}")  # readers must never see a file that is not locked yet
        descriptor = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        _write_record(descriptor, record)
        hidden.rename(path)
        return Entry(path, descriptor, record)

    def leak(
        self,
        *,
        guest: str,
        comm: str,
        host_bytes: int,
        gpu_mib: Mapping[int, int],
        until_stop: bool = False,
    ) -> None:
        """Record memory that is held without any owner, as a driver's own leak is."""
        path = self._folder / f"{guest}-leak-{time.monotonic_ns():x}.json"
        amounts = {
            "host_bytes": host_bytes,
            "gpu_mib": _as_keys(gpu_mib),
            "leak": True,
            "until_stop": until_stop,
        }
        hidden = path.with_name(f".{path.name}")  # a reader would take half a record for a dead owner's
        hidden.write_text(json.dumps(_record(comm, guest) | amounts))
        hidden.rename(path)

    def mark_leaked(self, pids: Iterable[int], *, guest: str | None = None) -> None:
        """Mark living owners' entries as leaking (pids of `guest`'s namespace), before they are killed."""
        wanted = set(pids)
        for path in self._paths():
            with contextlib.suppress(FileNotFoundError), path.open("r+b") as file:
                record = _read_record(file.fileno())
                if record and record["pid"] in wanted and record["guest"] == (guest or current_guest()):
                    _write_record(file.fileno(), record | {"leak": True})

    def holdings(self) -> list[Holding]:
        """Everything that is taken now; entries of dead owners that leaked nothing are deleted on the way."""
        return [holding for _, holding in self._read()]

    def totals(self) -> Totals:
        """Sums over `holdings`."""
        host: Counter[str] = Counter()
        gpus: Counter[int] = Counter()
        for holding in self.holdings():
            host[holding.guest] += holding.host_bytes
            gpus.update(holding.gpu_mib)
        return Totals(host, gpus)

    def forget_leaks(self, minors: Iterable[int], *, stopped: Iterable[str] = ()) -> None:
        """What a reset of these GPUs does: what dead owners had on them is free; with the last GPU, the host's too.

        What lasts until its guest is stopped goes only if that is among the `stopped`.
        """
        wanted, down = set(minors), set(stopped)
        for path, holding in self._read():
            stays = holding.alive or (holding.until_stop and holding.guest not in down)
            if stays or not wanted & set(holding.gpu_mib):
                continue
            if left := {minor: mib for minor, mib in holding.gpu_mib.items() if minor not in wanted}:
                _change(path, gpu_mib=_as_keys(left))
            else:
                path.unlink(missing_ok=True)

    def forget_host_memory(self) -> None:
        """What a reboot does: nothing that dead owners had pinned is left."""
        for path, holding in self._read():
            if not holding.alive:
                _change(path, host_bytes=0)

    def clear(self, guest: str) -> None:
        """Drop every dead owner's entry of one guest, as a repair from outside the lab would."""
        for path, holding in self._read():
            if not holding.alive and holding.guest == guest:
                path.unlink(missing_ok=True)

    def _paths(self) -> list[Path]:
        return sorted(path for path in self._folder.glob("*.json") if not path.name.startswith("."))

    def _read(self) -> Iterator[tuple[Path, Holding]]:
        for path in self._paths():
            try:
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            try:
                alive = _is_locked(descriptor)
                record = _read_record(descriptor)
            finally:
                os.close(descriptor)
            if record is not None and (alive or record["leak"]):
                yield path, _holding(record, alive=alive)
            elif not alive:
                path.unlink(missing_ok=True)


def current_guest() -> str:
    """The guest that this process runs in, as the ledger names it; `host` on a hypervisor or a bare node."""
    return GUEST_FILE.read_text().strip() if GUEST_FILE.exists() else HOST


def _change(path: Path, **amounts: Any) -> None:
    """Change a dead owner's entry, at once and whole."""
    fresh = path.with_name(f".{path.name}")
    fresh.write_text(json.dumps(json.loads(path.read_text()) | amounts))
    fresh.rename(path)


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _record(comm: str, guest: str) -> dict[str, Any]:
    amounts = {"host_bytes": 0, "gpu_mib": {}, "leak": False}
    return {"guest": guest, "pid": os.getpid(), "comm": comm, **amounts}


def _as_keys(gpu_mib: Mapping[int, int]) -> dict[str, int]:
    return {str(minor): mib for minor, mib in gpu_mib.items()}


def _write_record(descriptor: int, record: Mapping[str, Any]) -> None:
    """One write of constant length: a reader sees a whole record, or tries again."""
    os.pwrite(descriptor, json.dumps(record).encode().ljust(_ENTRY_BYTES), 0)


def _read_record(descriptor: int) -> dict[str, Any] | None:
    for _ in range(_READ_TRIES):
        try:
            record: dict[str, Any] = json.loads(os.pread(descriptor, _ENTRY_BYTES, 0))
        except ValueError:
            time.sleep(0.001)
        else:
            return record
    return None


def _holding(record: Mapping[str, Any], *, alive: bool) -> Holding:
    gpu_mib = {int(minor): mib for minor, mib in record["gpu_mib"].items()}
    return Holding(**{**record, "gpu_mib": gpu_mib, "alive": alive})
