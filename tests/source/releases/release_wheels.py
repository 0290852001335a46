"""Releases as trees: fetched as wheels once and kept in the working tree, where the lab keeps its own."""

import os
from functools import lru_cache
from pathlib import Path

import pytest
from release_variants import SMALL

from fleetops.fleet.local_tree import LocalTree
from fleetops.fleet.releases import release_folder
from fleetops.model.errors import FleetopsError

HERE = Path(__file__).parent
ROOT = HERE.parents[2]

# Where unpacked wheels lie already, each as NAME-VERSION/: for a machine without the network.
UNPACKED = "FLEETOPS_TEST_RELEASES"


@lru_cache(maxsize=6)
def release_tree(release: str) -> LocalTree:
    """`sglang-0.5.9`, or the small package that is written here. Raises FleetopsError where it cannot be fetched."""
    package, version = release.split("-", 1)
    if release == SMALL:
        return LocalTree(HERE / "small", package)
    return LocalTree(_folder(package, version) / package, package, version)


def tree_or_skip(release: str) -> LocalTree:
    """The same for a test: without the network it is skipped, saying so; where CI runs, it fails."""
    if release not in _missing:
        try:
            return release_tree(release)
        except FleetopsError as error:
            _missing[release] = f"needs the wheel of {release}, which cannot be fetched: {error}"
    if os.environ.get("CI"):
        pytest.fail(_missing[release])
    pytest.skip(_missing[release])


# Asked for once in a run: without the network that alone may take a minute.
_missing: dict[str, str] = {}


def _folder(package: str, version: str) -> Path:
    unpacked = Path(os.environ.get(UNPACKED, "/nowhere")) / f"{package}-{version}"
    if unpacked.is_dir():
        return unpacked
    cache = Path(os.environ.get("FLEETOPS_CACHE", ROOT / ".demo"))
    return release_folder(package, version, cache, os.environ)
