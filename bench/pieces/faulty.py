"""A large fleet of which some hosts refuse, some are silent and some are slow: what becomes of the rest."""

from contextlib import ExitStack

from bench.contestants.fleetops import fleetops, parsed
from bench.delay_proxy import Line, proxied
from bench.entries import on_servers, sample_of
from bench.faults import Kind, kinds, silent
from bench.fleet import Fleet, loopback_addresses
from bench.measure import Finished, run_within
from bench.model import PieceResult, Sample
from bench.pieces.base import Bench, Piece, fleet_of
from bench.rounds import Entry
from bench.servers import Servers

DEADLINE_S = 60
MIXED, WELL_ALONE = "fleetops", "fleetops, the well hosts alone"
_SLOW_ROUND_TRIP_S = 0.5
_BLOCK = 91
# When each host ran it, by the clock that the benchmark itself goes by: all of them are this machine.
_COMMAND = ("date", "+ran-at-%s.%N")


def _faulty(piece: Piece, bench: Bench) -> PieceResult:
    of = kinds(piece.hosts)
    with ExitStack() as stack:
        servers, _ = stack.enter_context(fleet_of(piece.hosts))
        elsewhere = loopback_addresses(piece.hosts, _BLOCK)
        keys, lines = {}, []
        for kind, own, other in zip(of, servers.addresses, elsewhere, strict=True):
            keys[own if kind == "well" else other] = servers.public_keys[own]
            if kind == "slow":
                lines.append(Line(other, servers.port, own, servers.port, _SLOW_ROUND_TRIP_S))
        stack.enter_context(proxied(lines))
        mute = [other for kind, other in zip(of, elsewhere, strict=True) if kind == "silent"]
        stack.enter_context(silent(mute, servers.port))
        well = [own for kind, own in zip(of, servers.addresses, strict=True) if kind == "well"]
        only_well = servers.fleet({address: servers.public_keys[address] for address in well}, name="well")
        mixed = servers.fleet(keys, name="mixed")
        return piece.measure(
            bench,
            [
                _entry(MIXED, servers, mixed, of),
                _entry(WELL_ALONE, servers, only_well, ["well"] * len(well)),
            ],
        )


def _entry(name: str, servers: Servers, fleet: Fleet, of: list[Kind]) -> Entry:
    words = ["run", "*", "--json", "--timeout", str(DEADLINE_S)]
    # A deadline for the whole, where this release has one.
    help_text = run_within(fleetops(fleet, "run", "--help"), 60).stdout
    words += ["--deadline", f"{DEADLINE_S}s"] if "--deadline" in help_text else []
    names = {kind: {n for n, k in zip(fleet.names, of, strict=True) if k == kind} for kind in set(of)}

    def once(left_s: float) -> Sample:
        finished, node_cpu_s = on_servers(servers, fleetops(fleet, *words, "--", *_COMMAND), left_s)
        ran_at = _ran_at(finished)
        answering = names["well"] | names.get("slow", set())
        rest_s = [at - finished.began_at for host, at in ran_at.items() if host in names["well"]]
        return sample_of(
            finished,
            hosts=len(answering),
            answered=len(answering & set(ran_at)),
            statuses=(0,) if answering == set(fleet.names) else (3,),
            node_cpu_s=node_cpu_s,
            more={"rest_s": max(rest_s, default=0.0)},
        )

    return Entry(name=name, run=once)


def _ran_at(finished: Finished) -> dict[str, float]:
    """When each host that answered ran the command."""
    found: dict[str, float] = {}
    for answer in parsed(finished).get("answers", []):
        word, _, at = answer["stdout"].strip().rpartition("-")
        if word == "ran-at":
            found |= dict.fromkeys(answer["hosts"], float(at))
    return found


PIECES = (
    Piece(
        name="faulty-1000",
        title="{hosts} hosts, 2 % refusing, 2 % accepting but silent, 1 % slow",
        hosts=1000,
        quick_hosts=8,
        rounds=2,
        columns=("wall_s", "rest_s", "cpu_ms_host", "peak_mb", "threads", "processes"),
        run=_faulty,
        notes=(
            f"The deadline is {DEADLINE_S} s. *rest* is when the last well host had run the command, on its own clock.",
            f"A slow host has a round trip of {_SLOW_ROUND_TRIP_S:g} s. Per host means per host that can answer.",
        ),
    ),
)
