"""docs/benchmark.json: what every piece gave last, so that the pieces may be run one by one."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.judging import judge
from bench.model import PieceResult
from bench.page import page
from bench.tables import verdict_rows
from bench.targets import TARGETS

SCHEMA = "fleetops.benchmark/1"


def read(file: Path) -> dict[str, PieceResult]:
    """The pieces on record, by name; none where there is no file. Raises ValueError for a file of another form."""
    if not file.exists():
        return {}
    body = json.loads(file.read_text("utf-8"))
    if body.get("schema") != SCHEMA:
        raise ValueError(f"{file} is no {SCHEMA}")
    return {one["name"]: PieceResult.from_json(one) for one in body["pieces"]}


def merged(
    old: dict[str, PieceResult], new: Iterable[PieceResult], order: Sequence[str]
) -> list[PieceResult]:
    """The new ones in place of the old, in this order; a piece that could not be run replaces nothing."""
    pieces = dict(old)
    for result in new:
        if not result.skipped or result.name not in pieces:
            pieces[result.name] = result
    return [pieces[name] for name in order if name in pieces]


def write(folder: Path, results: Iterable[PieceResult], order: Sequence[str]) -> None:
    """Both files of this folder, with the pieces that were on record before."""
    file = folder / "benchmark.json"
    pieces = merged(read(file), results, order)
    verdicts = judge(TARGETS, {one.name: one for one in pieces})
    heading, *rows = verdict_rows(verdicts)
    body = {
        "schema": SCHEMA,
        "targets": [dict(zip((*heading[:-1], "verdict"), row, strict=True)) for row in rows],
        "pieces": [one.as_json() for one in pieces],
    }
    file.write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n", "utf-8")
    (folder / "benchmark.md").write_text(page(pieces, verdicts), "utf-8")
