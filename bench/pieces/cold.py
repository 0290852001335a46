"""One short command on many hosts, everyone connecting anew; near, and at a distance."""

from collections.abc import Sequence
from contextlib import ExitStack

from bench.contestants import AS_SHIPPED, SWIFT, Contestant
from bench.contestants.base import Task
from bench.contestants.fabric import GROUP
from bench.contestants.fleetops import FLEETOPS
from bench.delay_proxy import Line, proxied
from bench.entries import cold, installed
from bench.fleet import loopback_addresses
from bench.measure import run_within
from bench.model import PieceResult
from bench.pieces.base import Bench, Piece, fleet_of, short_command
from bench.servers import Servers

_DISTANT_BLOCK = 90
_WARM_UP_S = 60.0


def _piece(hosts: int, rounds: int, contestants: Sequence[Contestant], name: str = "") -> Piece:
    def run(piece: Piece, bench: Bench) -> PieceResult:
        return _cold(piece, bench, contestants)

    return Piece(
        name=name or f"cold-{hosts}",
        title="{hosts} hosts, cold, one command",
        hosts=hosts,
        rounds=rounds,
        run=run,
    )


def _cold(piece: Piece, bench: Bench, contestants: Sequence[Contestant]) -> PieceResult:
    task = short_command()
    with fleet_of(piece.hosts) as (servers, fleet):
        there, absent = installed(contestants, bench.tools)
        _warm_up(servers, there, bench, task)
        entries = [cold(one, servers, fleet, bench.tools, task) for one in there]
        return piece.measure(bench, entries, absent)


def _warm_up(servers: Servers, contestants: Sequence[Contestant], bench: Bench, task: Task) -> None:
    """Everyone once on one host, not timed: the first one to be read from disk or compiled is no slower for it."""
    first = servers.addresses[0]
    fleet = servers.fleet({first: servers.public_keys[first]}, name="one")
    for contestant in contestants:
        run_within(contestant.invocation(fleet, bench.tools, task), _WARM_UP_S)
    servers.settle()


def _distant(round_trip_ms: int) -> Piece:
    def run(piece: Piece, bench: Bench) -> PieceResult:
        task = short_command()
        with ExitStack() as stack:
            servers, _ = stack.enter_context(fleet_of(piece.hosts))
            there, absent = installed(_FAR, bench.tools)
            _warm_up(servers, there, bench, task)
            near = dict(zip(loopback_addresses(piece.hosts, _DISTANT_BLOCK), servers.addresses, strict=True))
            lines = [
                Line(address, servers.port, target, servers.port, round_trip_ms / 1000)
                for address, target in near.items()
            ]
            stack.enter_context(proxied(lines))
            keys = {address: servers.public_keys[target] for address, target in near.items()}
            fleet = servers.fleet(keys, name="far")
            entries = [cold(one, servers, fleet, bench.tools, task) for one in there]
            return piece.measure(bench, entries, absent)

    return Piece(
        name=f"delay-{round_trip_ms}",
        title=f"{{hosts}} hosts at a round trip of {round_trip_ms} ms, cold, one command",
        hosts=64,
        run=run,
        notes=("The proxy that delays is one more process on the same cores, the same for everyone.",),
    )


_FAR = (*SWIFT, GROUP, *AS_SHIPPED)

PIECES = (
    _piece(16, 7, (*SWIFT, *AS_SHIPPED)),
    _piece(64, 5, (*SWIFT, *AS_SHIPPED)),
    _piece(256, 3, (*SWIFT, *AS_SHIPPED)),
    _piece(1000, 2, SWIFT),
    _piece(1000, 1, (FLEETOPS, *AS_SHIPPED), "cold-1000-shipped"),
    _distant(20),
    _distant(80),
)
