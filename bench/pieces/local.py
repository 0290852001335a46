"""What contacts no host: starting, an inventory of thousands, and what a flag means."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import texts
from bench.contestants.fleetops import fleetops, parsed
from bench.entries import program, sample_of
from bench.fleet import ROOT, Fleet, write_fleet
from bench.measure import Finished, Invocation, run
from bench.model import PieceResult, Sample
from bench.pieces.base import Bench, Piece, folder
from bench.pieces.source import engine_source

FLAG = "hicache_size"
PYTHON, HELP, RUN_HELP = "python -c pass", "fleetops --help", "fleetops run --help"
CHECK, LIST = "inventory check", "inventory list"
COLD, CACHED = "explain, cold", "explain, cached"
ONE_NODE, MANY_NODES = "node-0174", "node-[0100-0163]"
PATTERNS = (ONE_NODE, MANY_NODES, "@rack-001", "*")


def resolving(pattern: str) -> str:
    """The row's name."""
    return f"resolve {pattern}"


def _nobody(own: Path) -> Fleet:
    """A fleet without hosts: an environment for commands that ask none."""
    return write_fleet(own / "nobody", {}, user="nobody", port=22, key=own / "no-key")


def _startup(piece: Piece, bench: Bench) -> PieceResult:
    with folder() as own:
        fleet = _nobody(own)
        bare = Invocation(argv=[sys.executable, "-c", "pass"], environ=fleet.environ())
        entries = [
            program(PYTHON, bare),
            program(HELP, fleetops(fleet, "--help"), _says("usage: fleetops")),
            program(RUN_HELP, fleetops(fleet, "run", "--help"), _says("usage: fleetops run")),
        ]
        return piece.measure(bench, entries)


def _says(words: str) -> Callable[[Finished], Sample]:
    return lambda finished: sample_of(finished, answered=int(words in finished.stdout))


def _inventory(piece: Piece, bench: Bench) -> PieceResult:
    with folder() as own:
        fleet = _nobody(own)
        (fleet.inventory / "fleet.yaml").write_text(texts.large_fleet_yaml(piece.hosts))
        (fleet.inventory / "profiles.yaml").write_text(texts.PROFILES_YAML)
        many = fleetops(fleet, "inventory", "list", MANY_NODES)
        entries = [
            program(CHECK, fleetops(fleet, "inventory", "check"), _says("no problem")),
            program(LIST, fleetops(fleet, "inventory", "list"), _says(ONE_NODE)),
            program(f"{LIST} {MANY_NODES}", many, _says("node-0163")),
            *(program(resolving(one), _resolving(fleet, one), _resolved) for one in PATTERNS),
        ]
        return piece.measure(bench, entries)


def _resolving(fleet: Fleet, pattern: str) -> Invocation:
    argv = [sys.executable, "-m", "bench.drivers.resolve_patterns", str(fleet.inventory), pattern]
    return Invocation(argv=argv, environ=fleet.environ(PYTHONPATH=str(ROOT)))


def _resolved(finished: Finished) -> Sample:
    """What the driver says of itself; its own start and the loading of the inventory are not what is asked."""
    told: dict[str, Any] = json.loads(finished.stdout or "{}")
    more = {"resolve_ms": told["ms"]} if told.get("hosts") else {}
    return sample_of(finished, answered=int(bool(more)), more=more)


def _explain(piece: Piece, bench: Bench) -> PieceResult:
    source = engine_source(bench)
    with folder() as own:
        fleet = _nobody(own)
        explain = ("explain", FLAG, "--source", str(source), "--json")
        kept = fleetops(fleet, *explain)
        run(kept)  # the proof that the cached runs find
        entries = [
            program(COLD, fleetops(fleet, *explain, "--no-cache"), _proven),
            program(CACHED, kept, _proven),
            program(HELP, fleetops(fleet, "--help"), _says("usage: fleetops")),
        ]
        return piece.measure(bench, entries)


def _proven(finished: Finished) -> Sample:
    return sample_of(finished, answered=int(parsed(finished).get("verdict") == "proven"))


_COLUMNS = ("wall_s", "cpu_s", "peak_mb")

PIECES = (
    Piece(
        name="startup",
        title="starting",
        rounds=25,
        columns=_COLUMNS,
        run=_startup,
    ),
    Piece(
        name="inventory-5000",
        title="an inventory of {hosts} nodes",
        hosts=5000,
        quick_hosts=200,
        rounds=7,
        columns=("wall_s", "cpu_s", "peak_mb", "resolve_ms"),
        run=_inventory,
        notes=("*resolve* is the pattern alone, in a process that has loaded the inventory.",),
    ),
    Piece(
        name="explain",
        title=f"what {FLAG} means, by an engine's source in a local folder",
        rounds=7,
        columns=_COLUMNS,
        run=_explain,
    ),
)
