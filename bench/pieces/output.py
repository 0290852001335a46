"""Much output from one host: how fast it is read, and what is held of it."""

from pathlib import Path
from typing import Any

from bench.contestants.fleetops import fleetops, parsed
from bench.entries import program, sample_of
from bench.errors import NotHere
from bench.fleet import Fleet
from bench.measure import Finished, Invocation
from bench.model import MB, PieceResult, Sample
from bench.pieces.base import Bench, Piece, fleet_of
from bench.rounds import Entry

LIMIT_BYTES = 8 * 1024 * 1024
"""What `fleetops run` keeps of a stream."""
WHOLE_MB, HALF_MB, NONE_MB = 100, 50, 0
SSH = "ssh cat"
_LINE = b"0123456789 a line of a log as an engine writes it, with about as many bytes as they have ......\n"


def row(megabytes: int) -> str:
    """The row's name."""
    return f"fleetops, {megabytes} MB"


def _output(piece: Piece, bench: Bench) -> PieceResult:
    if not bench.tools.find("ssh"):
        raise NotHere("there is no ssh: apt-get install openssh-client")
    # Where only its working is looked at, a tenth is enough: still more than what is kept.
    share = 5 if bench.quick else 1
    with fleet_of(1) as (servers, fleet):
        files = {size: _file(servers.folder, size * MB // share) for size in (WHOLE_MB, HALF_MB, NONE_MB)}
        entries = [_fleetops(fleet, size, file) for size, file in files.items()]
        return piece.measure(bench, [*entries, _ssh(fleet, files[WHOLE_MB])])


def _file(folder: Path, size_bytes: int) -> Path:
    """Lines of text, so many bytes of them or a little less."""
    file = folder / f"output-{size_bytes}"
    with file.open("wb") as out:
        for _ in range(size_bytes // len(_LINE)):
            out.write(_LINE)
    return file


def _fleetops(fleet: Fleet, megabytes: int, file: Path) -> Entry:
    kept = min(file.stat().st_size, LIMIT_BYTES)
    invocation = fleetops(fleet, "run", fleet.names[0], "--json", "--timeout", "300", "--", "cat", str(file))

    def judge(finished: Finished) -> Sample:
        answers: list[dict[str, Any]] = parsed(finished).get("answers", [])
        right = [one for one in answers if one["status"] == 0 and len(one["stdout"]) == kept]
        return sample_of(finished, answered=len(right))

    return program(row(megabytes), invocation, judge)


def _ssh(fleet: Fleet, file: Path) -> Entry:
    """Through a pipe to `wc -c`: the bytes are counted, and no disk is written."""
    line = f"ssh -F {fleet.ssh_config_curve25519} {fleet.addresses[0]} cat {file} | wc -c"
    invocation = Invocation(argv=["sh", "-c", line], environ=fleet.environ())
    size = str(file.stat().st_size)
    return program(
        SSH, invocation, lambda finished: sample_of(finished, answered=finished.stdout.split().count(size))
    )


PIECES = (
    Piece(
        name="output",
        title="100 MB of output from one host",
        rounds=5,
        columns=("wall_s", "cpu_s", "peak_mb"),
        run=_output,
        notes=(
            f"All of it is read; fleetops keeps the first {LIMIT_BYTES:,} bytes, and prints them as JSON.",
        ),
    ),
)
