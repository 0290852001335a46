"""One host, cold: what the first answer of an incident takes."""

from functools import partial

from bench.contestants.fleetops import fleetops
from bench.entries import on_hosts
from bench.measure import Finished, Invocation
from bench.model import PieceResult
from bench.pieces.base import Bench, Piece, fleet_of

PROBE, RUN, SSH = "fleetops probe", "fleetops run true", "ssh true"


def _one_host(piece: Piece, bench: Bench) -> PieceResult:
    with fleet_of(1) as (servers, fleet):
        name, config = fleet.names[0], str(fleet.ssh_config_curve25519)
        ssh = Invocation(argv=["ssh", "-F", config, fleet.addresses[0], "true"], environ=fleet.environ())
        probe, run = fleetops(fleet, "probe", name), fleetops(fleet, "run", name, "--", "true")
        shown = partial(_shown, name)
        entries = [
            # A node without GPUs has findings (1) and things that could not be told (3).
            on_hosts(PROBE, servers, fleet, probe, answered=shown, statuses=(0, 1, 3)),
            on_hosts(RUN, servers, fleet, run, answered=shown),
            on_hosts(SSH, servers, fleet, ssh, answered=lambda finished: int(finished.status == 0)),
        ]
        return piece.measure(bench, entries)


def _shown(name: str, finished: Finished) -> int:
    """Screens, not JSON: what a person waits for, rendering included."""
    return int(name in finished.stdout and "unreachable" not in finished.stdout)


PIECES = (
    Piece(
        name="one-host",
        title="one host, cold",
        rounds=15,
        columns=("wall_s", "cpu_s", "peak_mb"),
        run=_one_host,
    ),
)
