"""Host keys on record: known_hosts files, each read once per run, asked many times.

The format is sshd(8)'s, SSH_KNOWN_HOSTS FILE FORMAT: plain, `[host]:port`, hashed (`|1|salt|hash`) and wildcard
names, `@revoked`. Certificate authorities (`@cert-authority`) are passed over: Paramiko does not check host certificates.
"""

import base64
import binascii
import fcntl
import fnmatch
import hashlib
import hmac
import os
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from fleetops.model.errors import FleetopsError, UsageError

DEFAULT_PORT = 22


class Verdict(Enum):
    """What the record says of a key that a host presents."""

    KNOWN = "known"
    UNKNOWN = "unknown"
    CHANGED = "changed"
    REVOKED = "revoked"


@dataclass(frozen=True)
class HostKey:
    """A public key as it stands in known_hosts: its type, and its base64 body."""

    type: str
    body: str

    @property
    def fingerprint(self) -> str:
        """As `ssh-keygen -l` prints it: `SHA256:...`."""
        digest = hashlib.sha256(base64.b64decode(self.body)).digest()
        return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


@dataclass(frozen=True)
class Entry:
    """One line: which names, marked how, with which key, and where it stands."""

    names: tuple[str, ...]
    key: HostKey
    marker: str
    place: str


def record_name(host: str, port: int) -> str:
    """The name under which a server's key is kept."""
    return host if port == DEFAULT_PORT else f"[{host}]:{port}"


def parse(text: str, file: str = "known_hosts") -> Iterator[Entry]:
    """The entries of a file's text; lines that make no sense are passed over, as OpenSSH does."""
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        marker = words.pop(0) if words[0].startswith("@") else ""
        if len(words) >= 3 and _is_base64(words[2]) and marker != "@cert-authority":
            names = tuple(words[0].split(","))
            yield Entry(names, HostKey(words[1], words[2]), marker, f"{file}:{number}")


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


class KeyFile:
    """One file's entries, found by name without going through all of them."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._plain: dict[str, list[Entry]] = {}
        self._others: list[Entry] = []
        for entry in entries:
            if any(character in name for name in entry.names for character in "|*?!"):
                self._others.append(entry)
                continue
            for name in entry.names:
                self._plain.setdefault(name.lower(), []).append(entry)

    def find(self, name: str) -> list[Entry]:
        """The entries for this record name."""
        name = name.lower()
        return self._plain.get(name, []) + [entry for entry in self._others if _matches(entry.names, name)]


def _matches(patterns: Sequence[str], name: str) -> bool:
    if any(p.startswith("!") and _fits(name, p[1:]) for p in patterns):
        return False
    return any(_is_hash_of(p, name) if p.startswith("|") else _fits(name, p) for p in patterns)


def _fits(name: str, pattern: str) -> bool:
    """OpenSSH's patterns know `*` and `?` only: brackets stand for themselves."""
    return fnmatch.fnmatchcase(name, pattern.lower().replace("[", "[[]"))


def _is_hash_of(hashed: str, name: str) -> bool:
    parts = hashed.split("|")
    if len(parts) != 4 or parts[1] != "1":
        return False
    try:
        salt, digest = base64.b64decode(parts[2]), base64.b64decode(parts[3])
    except (binascii.Error, ValueError):
        return False
    return hmac.compare_digest(hmac.digest(salt, name.encode(), "sha1"), digest)


class KnownHosts:
    """The known_hosts files of a run; thread-safe."""

    def __init__(self) -> None:
        self._files: dict[Path, KeyFile] = {}
        self._lock = threading.Lock()

    def entries(self, files: Sequence[Path], name: str) -> list[Entry]:
        """What the files say of this name. Raises UsageError for a file that cannot be read."""
        return [entry for file in files for entry in self._file(file).find(name)]

    def verdict(self, files: Sequence[Path], name: str, key: HostKey) -> tuple[Verdict, str]:
        """What the files say of this name and key, and where (`FILE:LINE`)."""
        entries = self.entries(files, name)
        same = [entry for entry in entries if entry.key.body == key.body]
        if revoked := [entry for entry in same if entry.marker == "@revoked"]:
            return Verdict.REVOKED, revoked[0].place
        if same:
            return Verdict.KNOWN, same[0].place
        others = [entry for entry in entries if not entry.marker]
        return (Verdict.CHANGED, others[0].place) if others else (Verdict.UNKNOWN, "")

    def types(self, files: Sequence[Path], name: str) -> tuple[str, ...]:
        """The key types on record for this name: the server is asked for these first."""
        return tuple(dict.fromkeys(e.key.type for e in self.entries(files, name) if not e.marker))

    def record(self, file: Path, name: str, key: HostKey) -> None:
        """Add a key to a file, in one step (0600). Raises FleetopsError where the file cannot be written."""
        with self._lock:
            try:
                _append(file, f"{name} {key.type} {key.body}\n")
            except OSError as error:
                raise FleetopsError(f"cannot write {file}: {error.strerror or error}") from error
            self._files.pop(file, None)

    def _file(self, file: Path) -> KeyFile:
        with self._lock:
            if file not in self._files:
                self._files[file] = KeyFile(parse(_read(file), str(file)))
            return self._files[file]


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise UsageError(
            f"cannot read the known host keys in {file}: {error.strerror}",
            hint=f"make it readable for you: ls -l {file}",
        ) from error


def _append(file: Path, line: str) -> None:
    """The file with one line more, replaced as a whole, so that no reader and no crash sees half of it."""
    target = file.resolve()
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _only_writer(target.parent):
        text = _read(target)
        gap = "" if not text or text.endswith("\n") else "\n"
        handle, draft = tempfile.mkstemp(prefix=f".{target.name}-", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write((target.read_bytes() if text else b"") + f"{gap}{line}".encode())
                out.flush()
                os.fsync(out.fileno())
            Path(draft).replace(target)
        except BaseException:
            Path(draft).unlink(missing_ok=True)
            raise


@contextmanager
def _only_writer(folder: Path) -> Iterator[None]:
    """Two `trust`s at once must not lose one another's line; the lock is the folder's, so nothing is left behind."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
