"""The benchmark in pieces: each is one table, and ends within ten minutes on two cores."""

from bench.pieces import cold, cores, faulty, grep, local, one_host, output, probe, warm
from bench.pieces.base import Bench, Piece

PIECES: tuple[Piece, ...] = (
    *cold.PIECES,
    *warm.PIECES,
    *cores.PIECES,
    *faulty.PIECES,
    *probe.PIECES,
    *one_host.PIECES,
    *output.PIECES,
    *grep.PIECES,
    *local.PIECES,
)

__all__ = ["PIECES", "Bench", "Piece"]
