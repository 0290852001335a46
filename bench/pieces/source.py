"""An engine's source on this machine, for the pieces that read one."""

import os
from pathlib import Path

from bench.errors import NotHere
from bench.fleet import ROOT
from bench.pieces.base import Bench


def engine_source(bench: Bench) -> Path:
    """The folder that was named, else the newest SGLang among the releases that fleetops' cache holds.

    Raises NotHere where there is none.
    """
    if bench.source is not None:
        return bench.source.resolve()
    named = os.environ.get("FLEETOPS_CACHE")
    caches = [Path(named)] if named else [ROOT / ".demo", Path.home() / ".cache/fleetops"]
    found = [folder for cache in caches for folder in cache.glob("releases/sglang-*/sglang")]
    if not found:
        raise NotHere(
            "there is no engine's source: name one with --source DIR, or `fleetops explain --release`"
        )
    return max(found, key=_release)


def _release(folder: Path) -> list[int]:
    digits = folder.parent.name.rpartition("-")[2].split(".")
    return [int(part) if part.isdigit() else 0 for part in digits]
