"""`python -m bench [PIECE ...]`: fleetops beside the tools that people use today; see CONTRIBUTING.md."""

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from bench import record
from bench.contestants import AS_SHIPPED, SWIFT
from bench.contestants.fabric import GROUP
from bench.errors import DidNotStart, NoFigures
from bench.fleet import ROOT
from bench.judging import judge
from bench.model import PieceResult
from bench.pieces import PIECES, Bench, Piece
from bench.screen import Screen
from bench.targets import TARGETS
from bench.tools import Tools
from fleetops.render.table import columns

INTERRUPTED = 130
_EVERYONE = (*SWIFT, GROUP, *AS_SHIPPED)
_DOCS = ROOT / "docs"
_BY_NAME = {piece.name: piece for piece in PIECES}


def main(words: Sequence[str] | None = None) -> int:
    """Run the pieces in turn. Exit 1 where a contestant failed, 130 where it was interrupted; a missed target is shown."""
    args = _arguments(words)
    tools = Tools(args.venv)
    if args.list:
        _list(tools)
        return 0
    # All as Ctrl-C, also in the background: what was started is ended on the way out.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    screen, results = Screen(), []
    bench = Bench(
        tools=tools,
        hosts=args.hosts,
        rounds=args.rounds,
        quick=args.quick,
        source=args.source,
        budget_s=args.budget,
        tell=screen.tell,
    )
    try:
        for name in args.pieces or _BY_NAME:
            results.append(_run(_BY_NAME[name].sized(bench), bench, screen))
            if args.write:
                record.write(args.write, results[-1:], list(_BY_NAME))
    except KeyboardInterrupt:
        screen.tell("interrupted")
        return INTERRUPTED
    screen.verdicts(judge(TARGETS, {one.name: one for one in results}))
    return int(any(_failed(one) for one in results))


def _failed(result: PieceResult) -> bool:
    """Whether something that is there did not work; what is not installed is no failure."""
    return result.failed or any(row.samples and row.wrong for row in result.rows)


def _run(piece: Piece, bench: Bench, screen: Screen) -> PieceResult:
    screen.tell(f"{piece.name}: {piece.rounds} round{'s' * (piece.rounds > 1)}")
    try:
        result = piece.run(piece, bench)
    except NoFigures as reason:
        result = PieceResult(
            name=piece.name,
            title=piece.title.format(hosts=piece.hosts),
            columns=(),
            skipped=str(reason),
            failed=isinstance(reason, DidNotStart),
        )
    screen.result(result)
    return result


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = _parser()
    args = parser.parse_args(words)
    if args.write == _DOCS and (args.hosts or args.quick):
        parser.error("docs/ keeps the pieces as they are: no --hosts, no --quick, or another --write DIR")
    return args


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__.splitlines()[0])
    parser.add_argument("pieces", nargs="*", type=_piece, metavar="PIECE", help="all in turn when left out")
    parser.add_argument("--list", action="store_true", help="show the pieces, and who is installed")
    parser.add_argument(
        "--hosts", type=_count, metavar="N", help="so many hosts in place of a piece's own number"
    )
    parser.add_argument(
        "--rounds", type=_count, metavar="N", help="so many rounds in place of a piece's own number"
    )
    parser.add_argument(
        "--quick", action="store_true", help="one round on a few hosts: shows that it works, measures nothing"
    )
    parser.add_argument(
        "--source", type=Path, metavar="DIR", help="an engine's source (default: a cached release)"
    )
    parser.add_argument(
        "--budget",
        type=float,
        default=530.0,
        metavar="S",
        help="what a piece's rounds may take (default 530)",
    )
    parser.add_argument(
        "--venv", type=Path, default=ROOT / ".venv-bench", help="where the other tools are installed"
    )
    parser.add_argument(
        "--write",
        type=Path,
        nargs="?",
        const=_DOCS,
        metavar="DIR",
        help="keep the figures: benchmark.md and benchmark.json (in docs/)",
    )
    return parser


def _piece(name: str) -> str:
    if name not in _BY_NAME:
        raise argparse.ArgumentTypeError(f"no piece is named {name}; --list shows them")
    return name


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


def _list(tools: Tools) -> None:
    rows = [("piece", "rounds", "what"), *map(_piece_row, PIECES)]
    print(columns(rows, right=(1,)))
    print()
    contestants = [(one.name, one.version(tools) or f"not installed: {one.install}") for one in _EVERYONE]
    print(columns([("contestant", "release"), *contestants]))


def _piece_row(piece: Piece) -> tuple[str, str, str]:
    return piece.name, str(piece.rounds), piece.title.format(hosts=piece.hosts)


if __name__ == "__main__":
    sys.exit(main())
