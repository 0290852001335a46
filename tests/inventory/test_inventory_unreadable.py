"""An inventory that cannot be looked at, or is no file at all, is a usage error that names it: never a defect."""

import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetops.cli.program import run
from fleetops.cli.world import World
from fleetops.model.exit import Exit

NOBODY = 65534


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "inventory").mkdir()
    return tmp_path


@pytest.fixture
def as_plain_user() -> Iterator[None]:
    """No file is closed to root."""
    if os.geteuid() != 0:
        yield
        return
    try:
        os.seteuid(NOBODY)
    except OSError:
        pytest.skip("root here has no plain uid to become")
    yield
    os.seteuid(0)


def refused(place: Path, *words: str, **environ: str) -> str:
    """The error of `inventory check`, typed in `place`."""
    stderr = io.StringIO()
    world = World(stdin=io.StringIO(), stdout=io.StringIO(), stderr=stderr, environ=environ, cwd=place)
    code = run(["inventory", "check", *words], world)
    assert code == Exit.USAGE, stderr.getvalue()
    return stderr.getvalue()


class TestAFolderThatMayNotBeEntered:
    @pytest.fixture(autouse=True)
    def closed(self, place: Path, request: pytest.FixtureRequest) -> None:
        (place / "inventory").chmod(0)
        request.getfixturevalue("as_plain_user")

    def test_named_by_the_option(self, place: Path) -> None:
        assert f"{place}/inventory: Permission denied" in refused(place, "--inventory", "inventory")

    def test_named_by_the_variable(self, place: Path) -> None:
        assert f"{place}/inventory: Permission denied" in refused(place, FLEETOPS_INVENTORY="inventory")

    def test_a_usual_place_is_not_passed_over(self, place: Path) -> None:
        assert f"{place}/inventory: Permission denied" in refused(place, HOME="/nowhere")


def test_a_name_that_no_file_can_have(place: Path) -> None:
    assert "File name too long" in refused(place, "--inventory", "x" * 300)


@pytest.mark.parametrize("name", ["fleet.yaml", "profiles.yaml"])
class TestInPlaceOfAFile:
    @pytest.fixture
    def path(self, place: Path, name: str) -> Path:
        (place / "inventory/fleet.yaml").write_text("nodes: {n1: {address: h}}\n")
        path = place / "inventory" / name
        path.unlink(missing_ok=True)
        return path

    def test_a_folder(self, place: Path, path: Path) -> None:
        path.mkdir()
        assert f"{path} is a folder, where a file is expected" in refused(place)

    def test_a_fifo(self, place: Path, path: Path) -> None:
        os.mkfifo(path)
        assert f"{path} is neither a file nor a folder" in refused(place)

    def test_a_dead_link(self, place: Path, path: Path) -> None:
        path.symlink_to("gone.yaml")
        assert f"{path} is a link that leads nowhere: to gone.yaml" in refused(place)
