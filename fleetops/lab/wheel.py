"""The engine's real source for the lab's nodes: SGLang's wheel, fetched once and kept.

Where it cannot be had (no network, no pip), a small tree of this project's own takes its place: it has the same
path from flag to allocation, and the lab says that it is not the real one.
"""

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from fleetops.lab.engine.model_folder import write_models

VERSION = "0.5.9"
WHEEL = f"sglang-{VERSION}-py3-none-any.whl"
_STAND_IN = Path(__file__).parent / "standin"
_TREE = "engine/tree.json"
_FETCH_S = 120.0
_CONNECT_S = 10


@dataclass(frozen=True)
class EngineTree:
    """What lies on the nodes. `real` False: the stand-in tree, and `note` says why."""

    version: str
    real: bool
    note: str = ""


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Where the wheel is kept: $FLEETOPS_LAB_CACHE, else the user's cache folder."""
    if environ.get("FLEETOPS_LAB_CACHE"):
        return Path(environ["FLEETOPS_LAB_CACHE"]).absolute()
    base = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or tempfile.gettempdir()) / ".cache"
    return Path(base) / "fleetops"


def provide(share: Path, environ: Mapping[str, str]) -> EngineTree:
    """Fill what all hosts of a lab share: the engine's source (`engine/sglang`) and the models (`models`).

    Everything becomes readable for the lab's own uid, whoever calls. `read_tree` tells later what it was.
    """
    before = os.umask(0o022)
    try:
        tree = provide_engine(share / "engine/sglang", cache_folder(environ))
        write_models(share / "models")
        (share / _TREE).write_text(json.dumps(asdict(tree)) + "\n")
    finally:
        os.umask(before)
    return tree


def read_tree(share: Path) -> EngineTree:
    """What `provide` put there. Raises FileNotFoundError."""
    return EngineTree(**json.loads((share / _TREE).read_text()))


def provide_engine(target: Path, cache: Path) -> EngineTree:
    """Put the engine's package and its metadata below `target`, which becomes a node's `/root/sglang/python`."""
    target.mkdir(parents=True, exist_ok=True)
    wheel, reason = fetch_wheel(cache)
    if wheel:
        shutil.copytree(_unpacked(wheel), target, copy_function=_link_or_copy, dirs_exist_ok=True)
        return EngineTree(VERSION, real=True)
    _write_stand_in(target)
    return EngineTree(VERSION, real=False, note=reason)


def fetch_wheel(cache: Path) -> tuple[Path | None, str]:
    """The wheel in the cache, downloaded on the first call; None and the reason where that does not work."""
    kept = cache / WHEEL
    if _is_whole(kept):
        return kept, ""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _alone(cache):
            return (kept, "") if _is_whole(kept) else _download(cache)
    except OSError as error:
        return None, f"{cache}: {error.strerror}"


def _download(cache: Path) -> tuple[Path | None, str]:
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download"]
        options = [
            "--no-cache-dir",
            "--no-deps",
            "--only-binary=:all:",
            "--retries=1",
            f"--timeout={_CONNECT_S}",
        ]
        try:
            done = subprocess.run(
                [*command, *options, f"--dest={folder}", f"sglang=={VERSION}"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_FETCH_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None, f"pip did not finish in {_FETCH_S:.0f} s"
        fetched = Path(folder) / WHEEL
        if done.returncode or not _is_whole(fetched):
            lines = (done.stderr or done.stdout).strip().splitlines()
            return None, lines[-1] if lines else f"pip left no {WHEEL}"
        kept = cache / WHEEL
        fetched.rename(kept)
        kept.chmod(0o644)
        return kept, ""


def _unpacked(wheel: Path) -> Path:
    """The wheel's files, unpacked once beside it: the lab only ever shows them read-only, so all labs share them."""
    folder = wheel.with_suffix("")
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=wheel.parent) as fresh, zipfile.ZipFile(wheel) as archive:
            archive.extractall(fresh)
            Path(fresh).chmod(0o755)
            with contextlib.suppress(OSError):  # another lab was quicker
                Path(fresh).rename(folder)
    return folder


def _link_or_copy(source: str, target: str) -> None:
    """A link costs nothing; across file systems, and where links are forbidden, it is a copy."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _is_whole(wheel: Path) -> bool:
    """A zip file with its directory, which is written last."""
    return wheel.is_file() and zipfile.is_zipfile(wheel)


@contextlib.contextmanager
def _alone(cache: Path) -> Iterator[None]:
    """Two labs that come up at once fetch it once."""
    descriptor = os.open(cache / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _write_stand_in(target: Path) -> None:
    """Files of the stand-in tree are kept as text, so that nothing takes them for this project's own modules."""
    for source in sorted(_STAND_IN.rglob("*.txt")):
        place = target / source.relative_to(_STAND_IN).with_suffix("")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)
