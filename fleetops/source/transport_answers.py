"""What a node is asked to read an engine's source, and what its answers say."""

import binascii
import re
import zlib
from dataclasses import dataclass
from hashlib import sha256

from fleetops.model.command import Command, Outcome, shell
from fleetops.model.errors import FleetopsError
from fleetops.source.transport_scripts import DIGEST, END, FETCH, NO_FOLDER, TOO_MUCH

DIGEST_S, FETCH_S = 60.0, 60.0  # a cold 70 MB tree on a slow disk takes tens of seconds; a warm one 0.3
FETCH_BYTES = 256 * 2**20
_ANSWER_BYTES = 64 * 2**20  # of what the former become when they travel

_SUM = re.compile(r"(\\?)([0-9a-f]{64})  \./(.*)", re.DOTALL)
_LOOP = re.compile(r"loop|Too many levels of symbolic links", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class SourceDigest:
    """A tree on a node.

    Attributes:
        digest: as `tree_digest` has it.
        files: how many .py files it has.
        gaps: what of it could not be read, in the node's own words.
    """

    digest: str
    files: int
    gaps: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """The files that mention some names.

    Attributes:
        sums: path -> sha256, of all of them.
        contents: sha256 -> bytes, of those that had not travelled before.
        odd: what mentions them and is not read, "" where there is nothing: giants, names with control characters.
    """

    sums: dict[str, str]
    contents: dict[str, bytes]
    odd: str = ""


def digest_command(folder: str) -> Command:
    """What the tree in `folder` hashes to."""
    return shell(DIGEST, folder, deadline_s=DIGEST_S)


def parse_digest(outcome: Outcome, folder: str) -> SourceDigest:
    """Raises FleetopsError where the folder could not be read to its end, or holds no source."""
    lines = _finished(outcome, folder)
    counted = next((line for line in lines if line.startswith("files ")), "")
    digest = next((line[:64] for line in lines if re.match(r"[0-9a-f]{64}\b", line)), "")
    if not counted or not digest:
        raise FleetopsError(f"the source in {folder} could not be read: {outcome.said}")
    if counted == "files 0":
        raise FleetopsError(f"there is no Python source in {folder}: {outcome.said}")
    said = (line for line in outcome.stderr.splitlines() if line.startswith(("find: ", "sha256sum: ")))
    gaps = tuple(line.partition(": ")[2] for line in said if not _LOOP.search(line))
    return SourceDigest(digest=digest, files=int(counted.removeprefix("files ")), gaps=gaps)


def fetch_command(folder: str, names: tuple[str, ...], known: tuple[str, ...]) -> Command:
    """The files in `folder` that mention one of these identifiers; contents of `known` hashes stay there."""
    return shell(
        FETCH,
        folder,
        str(FETCH_BYTES),
        *names,
        stdin="".join(f"{digest}\n" for digest in known),
        deadline_s=FETCH_S,
        limit_bytes=_ANSWER_BYTES,
    )


def parse_fetch(outcome: Outcome, folder: str) -> Fetched:
    """Raises FleetopsError for an answer that is not whole. A file that changed meanwhile has no content in it."""
    if outcome.status == TOO_MUCH or outcome.truncated:
        raise FleetopsError(f"too much of the source in {folder} mentions what is followed to be sent here")
    lines = _finished(outcome, folder)
    content_at = lines.index("content") if "content" in lines else len(lines)
    sizes_at = lines.index("sizes") if "sizes" in lines else content_at
    odd = next((line.removeprefix("odd ") for line in lines[:1] if line.startswith("odd ")), "")
    sums = dict(_sum(line, folder) for line in lines[:sizes_at] if not line.startswith("odd "))
    sizes = [int(size) for size in lines[sizes_at + 1 : content_at]]
    data = _inflated("".join(lines[content_at + 1 :]), folder)
    return Fetched(sums=sums, contents=_cut(data, sizes), odd=odd)


def _finished(outcome: Outcome, folder: str) -> list[str]:
    """The lines before the last, which says that there are no more."""
    if outcome.timed_out:
        raise FleetopsError(f"the source in {folder} could not be read in {DIGEST_S:g} s")
    if outcome.status == NO_FOLDER:
        raise FleetopsError(f"there is no folder {folder}: {outcome.said}")
    lines = outcome.stdout.removesuffix("\n").split("\n")
    if lines[-1] != END or outcome.truncated:
        raise FleetopsError(f"the source in {folder} could not be read to its end: {outcome.said}")
    return lines[:-1]


def _sum(line: str, folder: str) -> tuple[str, str]:
    """Path and hash of one line of sha256sum."""
    found = _SUM.fullmatch(line)
    if found is None:
        raise FleetopsError(f"reading {folder} gave a line that makes no sense: {line[:200]!r}")
    marked, digest, path = found.groups()
    return path.replace("\\\\", "\\") if marked else path, digest


def _inflated(text: str, folder: str) -> bytes:
    """What gzip and base64 made of the contents, no larger than asked for."""
    if not text:
        return b""
    try:
        unpacker = zlib.decompressobj(wbits=31)
        data = unpacker.decompress(binascii.a2b_base64(text.encode()), FETCH_BYTES)
    except (ValueError, zlib.error) as error:
        raise FleetopsError(f"what came of the source in {folder} is damaged: {error}") from error
    return data


def _cut(data: bytes, sizes: list[int]) -> dict[str, bytes]:
    """The contents, one after the other, each under its own hash."""
    contents, at = {}, 0
    for size in sizes:
        content = data[at : at + size]
        contents[sha256(content).hexdigest()] = content
        at += size
    return contents
