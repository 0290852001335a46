"""A released engine's source: its wheel, fetched by pip once, of which the .py files and the metadata are kept.

Nothing of it is ever run or installed, so a wheel of any platform will do. What is kept lies in the cache folder as
`releases/NAME-VERSION/`, an unpacked wheel without its binaries (of vLLM's 400 MB, 30).
"""

import contextlib
import difflib
import fcntl
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path, PurePosixPath

from fleetops.model.errors import FleetopsError, UsageError
from fleetops.source.packages import package

FETCH_S = 900.0
_CONNECT_S = 15
_UNPACKED_BYTES = 2**30
_FORM = re.compile(r"([A-Za-z][A-Za-z0-9_.-]*)==([0-9][A-Za-z0-9.!+_-]*)")
_KNOWN = re.compile(r"\(from versions: ([^)]*)\)")
# pip's words for an index that it could not ask.
_NO_NETWORK = re.compile(
    r"NewConnectionError|ConnectTimeout|NameResolution|Temporary failure|ProxyError|SSLError|Connection (?:refused|broken)|"
    r"Read timed out|Network is unreachable|Max retries exceeded"
)
_KEPT = re.compile(r"[^/]+\.dist-info/(?:METADATA|WHEEL)|.*\.py")
# As for a server's usual machine: the newest SGLang releases are wheels of a platform.
_ELSEWHERE = (
    "--python-version=3.12",
    "--implementation=cp",
    *(f"--platform=manylinux_2_{minor}_x86_64" for minor in (39, 35, 34, 31, 28, 27, 17)),
    *(f"--platform={name}" for name in ("manylinux2014_x86_64", "manylinux1_x86_64", "linux_x86_64", "any")),
)


def parse_release(text: str) -> tuple[str, str]:
    """`sglang==0.5.9` as name and version. Raises UsageError for another form or an unknown name."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise UsageError(f"{text!r} is no release", hint="write it as pip does: sglang==0.5.9")
    name = found[1].lower()
    package(name)
    return name, found[2]


def release_folder(name: str, version: str, cache: Path, environ: Mapping[str, str]) -> Path:
    """The folder with the release's package and metadata, fetched where the cache has it not.

    Raises:
        UsageError: there is no such release.
        FleetopsError: it cannot be fetched or kept.
    """
    kept = cache / "releases" / f"{name}-{version}"
    if kept.is_dir():
        return kept
    try:
        kept.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        with _alone(kept):
            if not kept.is_dir():
                _fetch(name, version, kept, environ)
    except OSError as error:
        raise FleetopsError(
            f"cannot keep {name} {version} in {kept.parent}: {error.strerror}",
            hint="set FLEETOPS_CACHE to a writable folder",
        ) from error
    return kept


@contextlib.contextmanager
def _alone(kept: Path) -> Iterator[None]:
    """Two who want the same release at once fetch it once."""
    descriptor = os.open(kept.parent / f".{kept.name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _fetch(name: str, version: str, kept: Path, environ: Mapping[str, str]) -> None:
    """Whoever holds the lock may clear away what an interrupted fetch has left."""
    part = kept.parent / f".{kept.name}.part"
    shutil.rmtree(part, ignore_errors=True)
    try:
        (part / "wheel").mkdir(parents=True)
        wheel = _download(name, version, part / "wheel", environ)
        unpack(wheel, part / "tree", name)
        (part / "tree").rename(kept)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _download(name: str, version: str, folder: Path, environ: Mapping[str, str]) -> Path:
    """The wheel, for this interpreter, else for another one. A source archive would have to be run to be unpacked."""
    said = ""
    for extra in ((), _ELSEWHERE):
        done = _pip(name, version, folder, environ, extra)
        wheels = sorted(folder.glob("*.whl"))
        if done.returncode == 0 and wheels:
            return wheels[0]
        said = done.stderr or done.stdout
        if _NO_NETWORK.search(said) or "No module named pip" in said:
            break
    raise _refusal(name, version, said)


def _pip(
    name: str, version: str, folder: Path, environ: Mapping[str, str], extra: tuple[str, ...]
) -> subprocess.CompletedProcess[str]:
    options = ("--no-deps", "--no-cache-dir", "--only-binary=:all:", "--retries=1", f"--timeout={_CONNECT_S}")
    command = (*_pip_itself(environ), "--disable-pip-version-check", "--no-input", "download", *options)
    try:
        return subprocess.run(
            [*command, *extra, f"--dest={folder}", f"{name}=={version}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env=dict(environ),
            timeout=FETCH_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise FleetopsError(
            f"pip did not fetch {name} {version} within {FETCH_S / 60:.0f} minutes"
        ) from error


def _pip_itself(environ: Mapping[str, str]) -> tuple[str, ...]:
    """This interpreter's pip, else the one on PATH: an environment may come without."""
    other = None if find_spec("pip") else shutil.which("pip3", path=environ.get("PATH"))
    return (other,) if other else (sys.executable, "-m", "pip")


def _refusal(name: str, version: str, said: str) -> FleetopsError:
    by_hand = "unpack its wheel yourself and name the folder: fleetops explain FLAG --source DIR"
    if "No module named pip" in said:
        return FleetopsError(
            f"fetching {name} {version} needs pip, which this Python has not",
            hint=f"{sys.executable} -m ensurepip, or {by_hand}",
        )
    if broken := _NO_NETWORK.search(said):
        return FleetopsError(
            f"the package index could not be asked for {name} {version}: {broken[0]}",
            hint=f"check the network, or pip's own settings (PIP_INDEX_URL, a proxy); or {by_hand}",
        )
    if found := _KNOWN.search(said):
        known = [one.strip() for one in found[1].split(",") if one.strip() not in {"", "none"}]
        near = [*difflib.get_close_matches(version, known, n=2, cutoff=0.7), known[-1]] if known else []
        if version in known or not known:
            return FleetopsError(f"there is no wheel of {name} {version}", hint=by_hand)
        return UsageError(
            f"there is no release {version} of {name}", hint=f"there are, among others, {', '.join(near)}"
        )
    return FleetopsError(f"pip cannot fetch {name} {version}: {_last_line(said)}", hint=by_hand)


def _last_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("[notice]")]
    return lines[-1].removeprefix("ERROR: ") if lines else "it said nothing"


def unpack(wheel: Path, target: Path, name: str) -> None:
    """The package's .py files and the wheel's metadata, readable for everybody.

    Raises FleetopsError for what is no wheel of that package, or one that would reach outside of `target`.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [one for one in archive.infolist() if not one.is_dir()]
            for member in members:
                _check_place(member.filename, wheel)
            kept = [(one, path) for one in members if (path := _place_of(one.filename, name))]
            if sum(one.file_size for one, _ in kept) > _UNPACKED_BYTES:
                raise FleetopsError(f"{wheel.name} holds more than {_UNPACKED_BYTES >> 30} GiB of source")
            for member, path in kept:
                _write(archive.read(member), target / path)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise FleetopsError(f"{wheel.name} is no whole wheel: {error}") from error
    if not (target / name).is_dir():
        raise FleetopsError(f"{wheel.name} holds no package {name}")
    for folder in (target, *(path for path in target.rglob("*") if path.is_dir())):
        folder.chmod(0o755)


def _check_place(filename: str, wheel: Path) -> None:
    path = PurePosixPath(filename)
    if path.is_absolute() or ".." in path.parts or "\\" in filename or "\0" in filename:
        raise FleetopsError(f"{wheel.name} is refused: it holds a file outside of itself, {filename!r}")


def _place_of(filename: str, name: str) -> str:
    """Where a member is kept; "" for what is not. `NAME.data/purelib/` is the package's other home in a wheel."""
    inside = re.sub(r"^[^/]+\.data/(?:purelib|platlib)/", "", filename)
    if not inside.startswith((f"{name}/", f"{name}-")) or not _KEPT.fullmatch(inside):
        return ""
    return inside


def _write(data: bytes, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(0o644)
