"""Packages as an installer leaves them in a folder on Python's path."""

from pathlib import Path


def install(site: Path, package: str, points: str, modules: dict[str, str], version: str = "1.0") -> None:
    """The modules, and the dist-info folder that makes a package of them."""
    for name, text in modules.items():
        (site / f"{name}.py").write_text(text)
    info = site / f"{package.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(points)
