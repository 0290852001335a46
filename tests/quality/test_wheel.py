"""The built wheel in an empty environment, run from an empty folder: nothing leans on the checkout."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Building and installing wait for a package index; the tests after them take no time.
pytestmark = pytest.mark.timeout(600)


def call(*argv: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """One program call with an environment that leads neither to the checkout nor to the user's own settings."""
    keep = ("PATH", "LANG", "SSL_CERT_FILE", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")
    environ = {
        name: value for name, value in os.environ.items() if name in keep or name.startswith(("PIP_", "pip_"))
    }
    environ["HOME"] = str(cwd)
    return subprocess.run(
        list(map(str, argv)), cwd=cwd, env=environ, capture_output=True, text=True, check=False
    )


def must(*argv: str | Path, cwd: Path) -> str:
    done = call(*argv, cwd=cwd)
    assert done.returncode == 0, f"{argv}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built by its own backend."""
    folder = tmp_path_factory.mktemp("wheel")
    must(
        sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT, cwd=folder
    )
    (built,) = folder.glob("fleetops-*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `fleetops` of an environment that holds the wheel and its dependencies, and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    # Without its own pip: Debian's Python lacks ensurepip until python3-venv is installed.
    must(sys.executable, "-m", "venv", "--without-pip", folder / "venv", cwd=folder)
    python = folder / "venv" / "bin" / "python"
    must(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", wheel, cwd=folder)
    return folder / "venv" / "bin" / "fleetops"


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    return tmp_path


def test_the_wheel_carries_code_playbooks_example_and_monitoring_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"fleetops"}
    assert "fleetops/py.typed" in names
    page = {name.removeprefix("fleetops/render/html/") for name in names}
    assert {"page.css", "page.js", "uplot/uPlot.iife.min.js", "uplot/uPlot.min.css", "uplot/LICENSE"} <= page
    for folder, source in (("playbooks",) * 2, ("inventory",) * 2, ("monitoring", "docs/monitoring")):
        packed = {
            name.removeprefix(f"fleetops/_data/{folder}/") for name in names if f"_data/{folder}/" in name
        }
        assert packed == {path.name for path in (ROOT / source).iterdir() if path.is_file()}
        assert packed


def test_version(installed: Path, empty: Path) -> None:
    from fleetops import __version__

    assert must(installed, "--version", cwd=empty) == f"fleetops {__version__}\n"


def test_the_packaged_example_inventory_is_in_order(installed: Path, empty: Path) -> None:
    must(installed, "inventory", "example", "inventory", cwd=empty)
    assert "no problem" in must(installed, "inventory", "check", cwd=empty)
    for path in (ROOT / "inventory").iterdir():
        assert (empty / "inventory" / path.name).read_bytes() == path.read_bytes()


def test_the_packaged_rules_and_dashboard_are_printed(installed: Path, empty: Path) -> None:
    for what, file in (("rules", "alerts.yaml"), ("dashboard", "dashboard.json")):
        printed = must(installed, "monitoring", what, cwd=empty)
        assert printed == (ROOT / "docs/monitoring" / file).read_text()


def test_recover_explains_itself(installed: Path, empty: Path) -> None:
    assert "usage: fleetops recover" in must(installed, "recover", "--help", cwd=empty)


def test_without_an_inventory_it_says_where_it_looked(installed: Path, empty: Path) -> None:
    done = call(installed, "probe", "node-174", "--json", cwd=empty)
    assert (done.returncode, done.stdout) == (2, "")
    assert json.loads(done.stderr)["schema"] == "fleetops.error/1"


def test_an_empty_folder_stays_empty(installed: Path, empty: Path) -> None:
    call(installed, "probe", "node-174", cwd=empty)
    assert list(empty.iterdir()) == []
