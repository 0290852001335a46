"""A rare literal in an engine's source, on many nodes at once."""

import shlex
import subprocess
from pathlib import Path

from bench.contestants.fleetops import fleetops, parsed
from bench.contestants.xargs_ssh import xargs_ssh
from bench.entries import on_hosts
from bench.errors import NotHere
from bench.fleet import Fleet
from bench.measure import Finished
from bench.model import PieceResult
from bench.pieces.base import Bench, Piece, fleet_of
from bench.pieces.source import engine_source
from bench.rounds import Entry
from bench.servers import Servers

OURS, SSH, SSH_RG = "fleetops grep-source", "xargs ssh grep", "xargs ssh rg"
LITERAL = "Not enough host memory"
# What `fleetops grep-source` leaves out as well: it is the same search.
_SAME = (
    "-rnFI",
    "--exclude=*.pyc",
    "--exclude=*.pyo",
    *(
        f"--exclude-dir={one}"
        for one in ("__pycache__", ".git", ".mypy_cache", ".pytest_cache", ".ruff_cache")
    ),
    "-e",
    LITERAL,
)


def _grep(piece: Piece, bench: Bench) -> PieceResult:
    source = engine_source(bench)
    lines = _matching(source)
    with fleet_of(piece.hosts) as (servers, fleet):
        ours = fleetops(fleet, "grep-source", "-F", LITERAL, "*", "--path", str(source), "--json")
        entries = [
            on_hosts(OURS, servers, fleet, ours, answered=lambda done: _same_answers(done, lines)),
            _by_ssh(SSH, ["grep", *_SAME, str(source)], servers, fleet, lines),
        ]
        if bench.tools.find("rg"):
            rg = ["rg", "-nF", "--no-ignore", "-e", LITERAL, str(source)]
            entries.append(_by_ssh(SSH_RG, rg, servers, fleet, lines))
        return piece.measure(bench, entries)


def _matching(source: Path) -> int:
    """How many lines there are to be found. Raises NotHere where there are none."""
    argv = ["grep", *_SAME, str(source)]
    done = subprocess.run(argv, capture_output=True, check=False)
    if not done.stdout:
        raise NotHere(f"{source} has no line with {LITERAL!r}: name an SGLang source with --source DIR")
    return done.stdout.count(b"\n")


def _by_ssh(name: str, argv: list[str], servers: Servers, fleet: Fleet, lines: int) -> Entry:
    invocation = xargs_ssh(fleet, shlex.join(argv), fleet.ssh_config_curve25519)
    return on_hosts(name, servers, fleet, invocation, answered=lambda done: done.stdout.count("\n") // lines)


def _same_answers(finished: Finished, lines: int) -> int:
    """Hosts whose answer has all the lines that there are."""
    answers = parsed(finished).get("answers", [])
    return sum(
        len(answer["hosts"]) for answer in answers if answer["total"] == lines and not answer["unread"]
    )


PIECES = (
    Piece(
        name="grep-64",
        title="{hosts} hosts, cold: a rare literal in an engine's source",
        hosts=64,
        rounds=5,
        run=_grep,
        notes=("All nodes read the same tree, from memory: the search itself takes most of the time.",),
    ),
)
