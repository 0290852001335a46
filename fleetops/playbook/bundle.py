"""The evidence of a run in one file, for whoever investigates: secrets masked, its size bounded, and what is missing said."""

import gzip
import io
import json
import os
import stat
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fleetops.model.errors import FleetopsError, UsageError
from fleetops.model.secrets import mask_known, mask_text, masked
from fleetops.model.story import Bundle, BundleMember, Story
from fleetops.playbook.story import mask_event
from fleetops.steps.keep_evidence import NOT_KEPT

# Of a file its end is kept: the last lines tell how it came. A run keeps 4 MiB of each at most.
_MOST_OF_ONE = 8 * 2**20
_MOST_OF_ALL = 64 * 2**20
_SUFFIX = ".tar.gz"
_CONTENTS = "CONTENTS.txt"
# What an investigator asks for first, and how its files begin.
_WANTED = {
    "facts before": ("facts-before",),
    "facts after": ("facts-after",),
    "kernel log": ("kernel",),
    "engine log": ("engine.log", "launch-", "supervisor-"),
    "process table": ("processes",),
    "stacks": ("stacks",),
}


@dataclass(frozen=True)
class _Piece:
    name: str
    text: str
    note: str = ""

    @property
    def is_left_out(self) -> bool:
        """Named only, with why."""
        return self.note.startswith("left out")


def pack(story: Story, told: Mapping[str, str], target: Path, known: Iterable[str] = ()) -> Bundle:
    """Pack the run's folder, and what is `told` of it (name -> text), into a `.tar.gz` that only its owner can read.

    Only regular files of the folder itself are packed, and no link is followed. A `target` that is a folder gets the
    bundle under the run's id, or the first free name after it; a file that is there is never overwritten. The secrets that
    are `known` as such go wherever they stand.

    Raises:
        UsageError: there is a file of that name already.
        FleetopsError: it cannot be written.
    """
    secrets = tuple(known)
    pieces = [_Piece(name, _clean(text, secrets)) for name, text in told.items()]
    pieces += _bounded(piece for piece in _kept(Path(story.folder), secrets) if piece.name not in told)
    missing = _missing(story, [piece.name for piece in pieces if not piece.is_left_out])
    pieces.append(_Piece(_CONTENTS, _contents(story, pieces, missing)))
    members = sorted(pieces, key=lambda piece: piece.name)
    path = _write(target, story.run.run_id, _tar(members, story))
    return Bundle(
        path=str(path),
        size_bytes=path.stat().st_size,
        members=tuple(
            BundleMember(name=one.name, size_bytes=len(_bytes(one.text)), note=one.note) for one in members
        ),
        missing=missing,
    )


def _kept(folder: Path, secrets: Sequence[str]) -> Iterator[_Piece]:
    """What lies in the folder, the smallest first, so that no large log crowds out the journal; older bundles are none of it."""
    sizes = {path.name: path.lstat().st_size for path in folder.iterdir() if not path.name.endswith(_SUFFIX)}
    for name in sorted(sizes, key=lambda name: (sizes[name], name)):
        try:
            yield _piece(folder, name, secrets)
        except OSError as error:
            yield _Piece(name, "", f"left out: {error.strerror}")


def _piece(folder: Path, name: str, secrets: Sequence[str]) -> _Piece:
    """A regular file, masked, of a large one its end; of anything else the name."""
    file = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode):
        os.close(file)
        return _Piece(name, "", "left out: no regular file")
    cut = max(0, found.st_size - _MOST_OF_ONE)
    with os.fdopen(file, "rb") as stream:
        stream.seek(cut)
        text = stream.read(_MOST_OF_ONE).decode("utf-8", "surrogateescape")
    note = f"the last {_MOST_OF_ONE // 2**20} of {found.st_size / 2**20:.1f} MiB" if cut else ""
    return _Piece(name, _masked(name, text, secrets), note)


def _bounded(pieces: Iterable[_Piece]) -> Iterator[_Piece]:
    """As many as all together may be; the others are named."""
    left = _MOST_OF_ALL
    for piece in pieces:
        size = len(_bytes(piece.text))
        if size > left:
            yield _Piece(piece.name, "", f"left out: the bundle holds {_MOST_OF_ALL // 2**20} MiB at most")
            continue
        left -= size
        yield piece


def _masked(name: str, text: str, secrets: Sequence[str]) -> str:
    """JSON stays JSON: it is masked string by string, a journal line by line."""
    if name.endswith(".jsonl"):
        return "".join(_line(line, secrets) for line in text.splitlines(keepends=True))
    if name.endswith(".json"):
        try:
            return json.dumps(masked(json.loads(text), secrets), indent=1) + "\n"
        except ValueError:
            return _clean(text, secrets)
    return _clean(text, secrets)


def _line(line: str, secrets: Sequence[str]) -> str:
    try:
        event = json.loads(line)
    except ValueError:
        return _clean(line, secrets)
    return (
        json.dumps(mask_event(event, secrets) if isinstance(event, dict) else masked(event, secrets)) + "\n"
    )


def _clean(text: str, secrets: Sequence[str]) -> str:
    return mask_known(mask_text(text), secrets)


def _missing(story: Story, names: Sequence[str]) -> dict[str, str]:
    """What is not there, and why as far as the run has written that down."""
    why = _reasons(Path(story.folder) / NOT_KEPT)
    missing = {}
    for what, starts in _WANTED.items():
        if any(name.startswith(starts) for name in names):
            continue
        said = [f"{name}: {reason}" for name, reason in why.items() if name.startswith(starts)]
        missing[what] = "; ".join(said) or _no_reason(story, what)
    return missing


def _no_reason(story: Story, what: str) -> str:
    if what in {"facts before", "facts after"}:
        return "not kept by this run"
    keeps = any(step.step == "keep-evidence" for step in story.steps)
    return (
        "nothing of it was found on the hosts"
        if keeps
        else f"{story.run.playbook} keeps no evidence of that kind"
    )


def _reasons(path: Path) -> dict[str, str]:
    """File name -> why it could not be had, as the run has written it down."""
    if path.is_symlink() or not path.is_file():
        return {}
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    pairs = (mask_text(line).partition(": ") for line in lines)
    return {name: why for name, colon, why in pairs if colon}


def _contents(story: Story, pieces: Sequence[_Piece], missing: Mapping[str, str]) -> str:
    """What is inside and what is missing, for whoever opens it elsewhere."""
    inside = [
        f"  {one.name}{f'   {one.note}' if one.note else ''}"
        for one in sorted(pieces, key=lambda one: one.name)
    ]
    versions = [f"  {name} {version}" for name, version in story.versions.items()]
    return "\n".join(
        [
            f"run {story.run.run_id}: {story.run.playbook} {story.run.node}, {story.run.status}",
            "secrets are masked; what else is private (names, addresses, paths) is not",
            "",
            "inside",
            *inside,
            "",
            "missing",
            *([f"  {what}: {why}" for what, why in missing.items()] or ["  nothing"]),
            "",
            "versions",
            *(versions or ["  not recorded"]),
            "",
        ]
    )


def _tar(pieces: Sequence[_Piece], story: Story) -> bytes:
    """The same bytes for the same evidence: names in order, the run's own time, nobody's name."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for piece in pieces:
            if piece.is_left_out:
                continue
            body = _bytes(piece.text)
            member = tarfile.TarInfo(f"{story.run.run_id}/{piece.name}")
            member.size, member.mode, member.mtime = len(body), 0o600, int(story.run.started_at)
            tar.addfile(member, io.BytesIO(body))
    return packed.getvalue()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _write(target: Path, run_id: str, body: bytes) -> Path:
    """Into a new file, private from its first byte on."""
    for path in _free_names(target, run_id) if target.is_dir() else [target]:
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            continue
        except OSError as error:
            raise FleetopsError(f"cannot write {path}: {error.strerror}") from error
        try:
            with os.fdopen(file, "wb") as stream:
                stream.write(body)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise FleetopsError(f"cannot write {path}: {error.strerror}") from error
        return path
    raise UsageError(f"{target} is there already, and is not overwritten", hint="give another FILE")


def _free_names(folder: Path, run_id: str) -> list[Path]:
    return [folder / f"{run_id}{number}{_SUFFIX}" for number in ("", *(f"-{n}" for n in range(2, 100)))]
