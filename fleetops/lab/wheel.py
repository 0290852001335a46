"""The engine's real source for the lab's nodes: an SGLang release, fetched once and kept.

Where it cannot be had (no network, no pip), a small tree of this project's own takes its place: it has the same
path from flag to allocation, and the lab says that it is not the real one.
"""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from fleetops.fleet.releases import release_folder
from fleetops.lab.engine.model_folder import write_models
from fleetops.model.errors import FleetopsError
from fleetops.store.cache import cache_folder

VERSION = "0.5.9"
VLLM_VERSION = "0.32.0"
_STAND_IN = Path(__file__).parent / "standin"
_TREE = "engine/tree.json"


@dataclass(frozen=True)
class EngineTree:
    """What lies on the nodes. `real` False: the stand-in tree, and `note` says why."""

    version: str
    real: bool
    note: str = ""


def provide(share: Path, environ: Mapping[str, str]) -> EngineTree:
    """Fill what all hosts of a lab share: the engines' source (`engine/sglang`, `engine/vllm`) and the models (`models`).

    Everything becomes readable for the lab's own uid, whoever calls. `read_tree` tells later what it was.
    """
    before = os.umask(0o022)
    try:
        tree = provide_engine(share / "engine/sglang", environ)
        provide_vllm(share / "engine/vllm", environ)
        write_models(share / "models")
        (share / _TREE).write_text(json.dumps(asdict(tree)) + "\n")
    finally:
        os.umask(before)
    return tree


def read_tree(share: Path) -> EngineTree:
    """What `provide` put there. Raises FileNotFoundError."""
    return EngineTree(**json.loads((share / _TREE).read_text()))


def provide_engine(target: Path, environ: Mapping[str, str]) -> EngineTree:
    """Put the engine's package and its metadata below `target`, which becomes a node's `/root/sglang/python`."""
    target.mkdir(parents=True, exist_ok=True)
    try:
        real = _release(environ)
    except FleetopsError as error:
        _write_stand_in(target)
        return EngineTree(VERSION, real=False, note=error.message)
    _copy(real, target)
    return EngineTree(VERSION, real=True)


def provide_vllm(target: Path, environ: Mapping[str, str]) -> None:
    """The same of vLLM, as a node's `/root/vllm`. Its wheel is large (400 MB): a release counts where it is kept already."""
    target.mkdir(parents=True, exist_ok=True)
    cache = cache_folder(environ)
    kept = cache / "releases" / f"vllm-{VLLM_VERSION}" if cache else None
    if kept and kept.is_dir():
        _copy(kept, target)
    else:
        _write_stand_in(target, "vllm")


def _copy(real: Path, target: Path) -> None:
    shutil.copytree(real, target, copy_function=_link_or_copy, dirs_exist_ok=True)


def _release(environ: Mapping[str, str]) -> Path:
    cache = cache_folder(environ)
    if cache is None:
        raise FleetopsError("there is no folder to keep it in: set FLEETOPS_CACHE")
    return release_folder("sglang", VERSION, cache, environ)


def _link_or_copy(source: str, target: str) -> None:
    """A link costs nothing; across file systems, and where links are forbidden, it is a copy."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _write_stand_in(target: Path, engine: str = "sglang") -> None:
    """Files of the stand-in tree are kept as text, so that nothing takes them for this project's own modules."""
    parts = (folder for folder in _STAND_IN.iterdir() if folder.name.startswith(engine))
    for source in sorted(path for part in parts for path in part.rglob("*.txt")):
        place = target / source.relative_to(_STAND_IN).with_suffix("")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)
