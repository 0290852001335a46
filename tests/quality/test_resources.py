"""Where the files that travel with the package are found."""

from pathlib import Path

import pytest

from fleetops import resources
from fleetops.model.errors import FleetopsError

ROOT = Path(__file__).resolve().parents[2]


def test_a_checkout_uses_its_own_top_level() -> None:
    assert resources.resource_folder("playbooks") == ROOT / "playbooks"
    assert resources.resource_folder("monitoring") == ROOT / "docs/monitoring"


def test_an_installation_uses_what_the_wheel_carried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "fleetops"
    (package / "_data" / "playbooks").mkdir(parents=True)
    monkeypatch.setattr(resources, "_PACKAGE", package)
    assert resources.resource_folder("playbooks") == package / "_data" / "playbooks"


def test_a_stranger_s_folder_beside_the_package_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inventory").mkdir()
    monkeypatch.setattr(resources, "_PACKAGE", tmp_path / "fleetops")
    with pytest.raises(FleetopsError, match="lacks its inventory") as caught:
        resources.resource_folder("inventory")
    assert caught.value.hint
