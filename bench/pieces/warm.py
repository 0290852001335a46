"""One short command over connections that are there already."""

from contextlib import ExitStack
from dataclasses import replace

from bench.contestants.fabric import POOL
from bench.contestants.fleetops import FLEETOPS
from bench.contestants.xargs_ssh import CURVE25519
from bench.errors import NotHere
from bench.model import PieceResult
from bench.pieces.base import Bench, Piece, fleet_of, short_command
from bench.warm import control_master, fabric_warm, fleetops_warm


def _warm(piece: Piece, bench: Bench) -> PieceResult:
    if not CURVE25519.version(bench.tools):
        raise NotHere(f"there is no ssh: {CURVE25519.install}")
    task = short_command()
    with ExitStack() as stack:
        _, fleet = stack.enter_context(fleet_of(piece.hosts))
        entries = [
            replace(stack.enter_context(way(fleet, task)), version=cold.version(bench.tools))
            for way, cold in ((fleetops_warm, FLEETOPS), (control_master, CURVE25519), (fabric_warm, POOL))
        ]
        return piece.measure(bench, entries)


PIECES = tuple(
    Piece(
        name=f"warm-{hosts}",
        title="{hosts} hosts, warm, one command",
        hosts=hosts,
        rounds=9,
        columns=("wall_s", "times", "cpu_ms_host", "peak_mb"),
        run=_warm,
        notes=("fleetops and Fabric are timed from within a process that keeps its connections.",),
    )
    for hosts in (16, 64, 256)
)
