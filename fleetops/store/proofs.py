"""Proofs that were made before: what a flag means in exactly this source, as exactly this tracer reads it.

A proof is looked up by the source's digest, the flag, and a digest of the code that made it. So a changed source, and
an upgraded fleetops, is read anew. What cannot be read, is not whole or is somebody else's does not count; what cannot
be written is not kept.
"""

import contextlib
import hashlib
import json
import os
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from fleetops.model.proof import EngineCheck, Explanation, Place, Pool
from fleetops.store.whole import write_whole

_PACKAGE = Path(__file__).resolve().parents[1]
# What a proof rests on: the tracer, what it is handed, and the form in which it is kept.
_MAKERS = ("source", "model/proof.py", "store/proofs.py")


class Proofs:
    """The proofs in one cache folder; None keeps nothing."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder / "proofs" if folder else None

    def get(self, package: str, flag: str, digest: str) -> Explanation | None:
        """The proof of this flag in the source with this digest, where one was made before."""
        if self._folder is None or not digest:
            return None
        try:
            found = _parse(_own_bytes(self._folder / _name(package, flag, digest)))
        except (OSError, ValueError, TypeError, KeyError):
            return None
        is_asked_for = (found.engine, found.flag, found.tree_sha256) == (package, flag, digest)
        return found if is_asked_for else None

    def put(self, explanation: Explanation) -> None:
        """Keep it for the source that it names. No error where that does not work."""
        if self._folder is None or not explanation.tree_sha256:
            return
        name = _name(explanation.engine, explanation.flag, explanation.tree_sha256)
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(self._folder / name, _format(explanation))


def _name(package: str, flag: str, digest: str) -> str:
    key = repr((tracer_digest(), package, flag, digest))
    return f"{hashlib.sha256(key.encode()).hexdigest()}.json"


@cache
def tracer_digest() -> str:
    """Of the code that makes proofs, sha256 in hex."""
    total = hashlib.sha256()
    for maker in _MAKERS:
        path = _PACKAGE / maker
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            total.update(f"{file.relative_to(_PACKAGE)}\0".encode())
            total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def _own_bytes(path: Path) -> bytes:
    """A file's content. Raises PermissionError where another user could have put it there."""
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        if status.st_uid != os.geteuid() or status.st_mode & 0o022:
            raise PermissionError(path)
        return file.read()


def _format(explanation: Explanation) -> bytes:
    """The checksum of the body, and the body, one line each."""
    body = json.dumps(asdict(explanation)).encode()
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body + b"\n"


def _parse(data: bytes) -> Explanation:
    """Raises ValueError, TypeError or KeyError for anything but what `_format` makes."""
    checksum, _, rest = data.partition(b"\n")
    body = rest.removesuffix(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != checksum:
        raise ValueError("not whole")
    fields: dict[str, Any] = json.loads(body)
    fields["pools"] = tuple(Pool(**pool) for pool in fields["pools"])
    fields["proof"] = tuple(Place(**place) for place in fields["proof"])
    fields["check"] = EngineCheck(**fields["check"]) if fields["check"] else None
    fields["notes"] = tuple(fields["notes"])
    return Explanation(**fields)
