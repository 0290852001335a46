"""What a client makes of several cores, and of one."""

import os

from bench.contestants.fabric import POOL
from bench.contestants.fleetops import FLEETOPS
from bench.contestants.xargs_ssh import CURVE25519
from bench.entries import cold, installed
from bench.errors import NotHere
from bench.model import PieceResult
from bench.pieces.base import Bench, Piece, fleet_of, short_command


def _cores(piece: Piece, bench: Bench) -> PieceResult:
    taskset = bench.tools.find("taskset")
    if not taskset:
        raise NotHere("there is no taskset: apt-get install util-linux")
    pinned = (taskset, "-c", str(min(os.sched_getaffinity(0))))
    task = short_command()
    there, absent = installed((FLEETOPS, CURVE25519, POOL), bench.tools)
    with fleet_of(piece.hosts) as (servers, fleet):
        entries = [
            cold(one, servers, fleet, bench.tools, task, pinned=prefix)
            for one in there
            for prefix in ((), pinned)
        ]
        return piece.measure(bench, entries, absent)


PIECES = (
    Piece(
        name="cores-256",
        title="{hosts} hosts, cold: the client on all cores, and on one",
        hosts=256,
        rounds=3,
        columns=("wall_s", "times", "cpu_ms_host", "busy_cores", "processes", "threads"),
        run=_cores,
        notes=(
            "Only the client is held to a core: the servers have all of them. On few cores they take most of them.",
        ),
    ),
)
