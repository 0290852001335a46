"""Inventories written for one test."""

from collections.abc import Callable
from pathlib import Path

import pytest

from fleetops.inventory import load_inventory
from fleetops.inventory.load import InventoryInvalid

Write = Callable[..., Path]
Wrong = Callable[..., list[str]]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes fleet.yaml (and profiles.yaml), and gives the folder."""

    def write_files(fleet: str, profiles: str | None = None) -> Path:
        (tmp_path / "fleet.yaml").write_text(fleet)
        if profiles is not None:
            (tmp_path / "profiles.yaml").write_text(profiles)
        return tmp_path

    return write_files


@pytest.fixture
def wrong(write: Write) -> Wrong:
    """The problems of a fleet, each as `line:column: message (hint)`; with the file's name for profiles.yaml."""

    def problems_of(fleet: str, profiles: str | None = None) -> list[str]:
        folder = write(fleet, profiles)
        with pytest.raises(InventoryInvalid) as caught:
            load_inventory(folder)
        texts = [str(problem).removeprefix(f"{folder}/") for problem in caught.value.problems]
        return [text.removeprefix("fleet.yaml:") for text in texts]

    return problems_of
