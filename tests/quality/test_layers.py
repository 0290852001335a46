"""Who may import whom. The files are parsed, not imported, so an import inside a function counts as well."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "fleetops"

# Highest first; imports go down only. The three faces stand beside each other.
LAYERS = (
    ("cli", "tasks", "lab"),
    ("render",),
    ("fleet",),
    ("playbook",),
    ("steps",),
    ("checks",),
    ("platforms",),
    ("engines",),
    ("facts",),
    ("source",),
    ("sizing",),
    ("store",),
    ("ssh",),
    ("inventory",),
    ("model",),
)
HEIGHT = {name: len(LAYERS) - place for place, row in enumerate(LAYERS) for name in row}

# Files of the top level that belong to no layer: anyone may import the first kind, the second is an entry point.
TOP_LEVEL = {"__init__", "resources"}
ENTRY_POINTS = {"__main__"}

# The exceptions, each with the reason why it is one.
ALSO_ALLOWED = {
    ("cli/lab.py", "lab"): "`fleetops lab` is the lab's own face",
    ("cli/world.py", "lab.paths"): "`--lab` is an inventory path, and this is where it is spelled",
    (
        "tasks/face.py",
        "cli.program",
    ): "a task is its subcommand, called from fab: the same output and exit codes",
    ("tasks/face.py", "cli.world"): "what `cli.program` is handed",
}

# Who may import what from outside; a name that is not listed may be imported anywhere.
OUTSIDE = {
    "fabric": ("ssh/", "tasks/"),
    "invoke": ("ssh/", "tasks/"),
    "paramiko": ("ssh/", "lab/"),
    "yaml": ("inventory/", "lab/"),
    "rich": ("render/", "cli/"),
    "prometheus_client": ("render/", "cli/"),
    "sqlite3": ("store/",),
}

PURE = ("checks", "platforms", "engines", "facts", "source", "sizing")
# Modules that reach outside the process, or whose answer differs from one call to the next.
IMPURE_MODULES = {
    "asyncio", "concurrent", "fcntl", "glob", "http", "io", "logging", "mmap", "multiprocessing", "os", "pty",
    "random", "secrets", "select", "selectors", "shutil", "signal", "socket", "sqlite3", "ssl", "subprocess",
    "sys", "tempfile", "threading", "time", "urllib",
}  # fmt: skip
IMPURE_CALLS = {"open", "input", "print", "exec", "eval", "breakpoint", "__import__"}
IMPURE_METHODS = {
    "read_text",
    "read_bytes",
    "write_text",
    "write_bytes",
    "iterdir",
    "rglob",
    "is_file",
    "unlink",
}
# What finds the files of a folder at import time may look into that folder, and nothing else may.
DISCOVERY = {"importlib", "pkgutil"}


@dataclass(frozen=True)
class Import:
    """One imported module, absolute, with where it is imported. `names` are what `from` takes out of it."""

    file: str
    line: int
    module: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"fleetops/{self.file}:{self.line} imports {self.module}"

    @property
    def targets(self) -> tuple[str, ...]:
        """The modules it may mean: `from fleetops import lab` means fleetops.lab."""
        return (self.module, *(f"{self.module}.{name}" for name in self.names))


def imports_of(source: str, file: str) -> Iterator[Import]:
    """Every import of one file, wherever in it it stands; relative ones made absolute."""
    package = ["fleetops", *file.split("/")[:-1]]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(file, node.lineno, alias.name)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield Import(file, node.lineno, module, tuple(alias.name for alias in node.names))


def layer_of(file: str) -> str | None:
    """The layer a file lies in; None for the top level's own files."""
    return file.split("/", maxsplit=1)[0] if "/" in file else None


def layer_faults(found: Import) -> Iterator[str]:
    """What is wrong with one import, by the order of the layers."""
    here = layer_of(found.file)
    inside = [target.split(".")[1:] for target in found.targets if target.split(".")[0] == "fleetops"]
    for parts in inside:
        if not parts or parts[0] not in HEIGHT or here is None:
            continue
        there = parts[0]
        if there == here or _excepted(found.file, ".".join(parts)):
            continue
        if here == "render" and there != "model":
            yield f"{found}: render knows the model only"
        elif there == "lab":
            yield f"{found}: nothing knows the lab but cli/lab.py"
        elif HEIGHT[there] >= HEIGHT[here]:
            yield f"{found}: {there} is not below {here}"


def _excepted(file: str, target: str) -> bool:
    return any(
        file == allowed_file and (target == allowed or target.startswith(f"{allowed}."))
        for allowed_file, allowed in ALSO_ALLOWED
    )


def outside_faults(found: Import) -> Iterator[str]:
    """A library imported where it has no business."""
    allowed = OUTSIDE.get(found.module.split(".")[0])
    if allowed is not None and not found.file.startswith(allowed):
        yield f"{found}: only {', '.join(allowed)} may"


def purity_faults(source: str, file: str) -> Iterator[str]:
    """What a pure file must not do: import what reaches outside, or call it."""
    finds_its_folder = file.endswith("/__init__.py")
    for found in imports_of(source, file):
        top = found.module.split(".")[0]
        if top in IMPURE_MODULES or (top in DISCOVERY and not finds_its_folder):
            yield f"{found}: this layer is pure"
        if top == "pathlib" and not (found.names and set(found.names) <= {"PurePath", "PurePosixPath"}):
            yield f"{found}: a pure layer has PurePosixPath"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in IMPURE_CALLS:
                yield f"fleetops/{file}:{node.lineno} calls {called.id}()"
            if isinstance(called, ast.Attribute) and called.attr in IMPURE_METHODS:
                yield f"fleetops/{file}:{node.lineno} calls .{called.attr}()"


FILES = {str(path.relative_to(PACKAGE)): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}


def test_every_folder_of_the_package_is_a_layer() -> None:
    folders = {
        path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name not in {"__pycache__", "_data"}
    }
    assert folders == set(HEIGHT)


def test_the_top_level_holds_nothing_that_belongs_into_a_layer() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} == TOP_LEVEL | ENTRY_POINTS


def test_what_anyone_may_import_knows_the_model_only() -> None:
    faults = [
        str(found)
        for name in TOP_LEVEL
        for found in imports_of(FILES[f"{name}.py"], f"{name}.py")
        if found.module.startswith("fleetops.") and not found.module.startswith("fleetops.model")
    ]
    assert not faults


@pytest.mark.parametrize("file", FILES)
def test_imports_go_down_the_layers_only(file: str) -> None:
    assert not [fault for found in imports_of(FILES[file], file) for fault in layer_faults(found)]


@pytest.mark.parametrize("file", FILES)
def test_libraries_are_imported_where_they_belong(file: str) -> None:
    assert not [fault for found in imports_of(FILES[file], file) for fault in outside_faults(found)]


@pytest.mark.parametrize("file", [file for file in FILES if layer_of(file) in PURE])
def test_pure_layers_do_no_io(file: str) -> None:
    assert not list(purity_faults(FILES[file], file))


def test_the_model_stands_on_the_standard_library_alone() -> None:
    outside = {"fabric", "paramiko", "yaml", "rich", "invoke", "prometheus_client"}
    assert not [
        str(found)
        for file, source in FILES.items()
        if layer_of(file) == "model"
        for found in imports_of(source, file)
        if found.module.split(".")[0] in outside
    ]


def test_an_exception_that_is_no_longer_needed_is_taken_out() -> None:
    used = {
        (found.file, allowed)
        for file, source in FILES.items()
        for found in imports_of(source, file)
        for allowed_file, allowed in ALSO_ALLOWED
        for target in found.targets
        if file == allowed_file and target.startswith(f"fleetops.{allowed}")
    }
    assert used == set(ALSO_ALLOWED)


@pytest.mark.parametrize(
    ("file", "line", "fault"),
    [
        ("model/gpu.py", "from fleetops.facts import gpus", "facts is not below model"),
        ("model/gpu.py", "from fleetops import facts", "facts is not below model"),
        ("checks/ranks.py", "from ..steps.stop import STEP", "steps is not below checks"),
        ("render/probe.py", "import fleetops.fleet.probe", "render knows the model only"),
        ("fleet/probe.py", "def late():\n    from fleetops.lab import up", "nothing knows the lab"),
        ("cli/probe.py", "from fleetops.lab.up import up", "nothing knows the lab"),
        ("tasks/probe.py", "from fleetops.cli import main", "cli is not below tasks"),
    ],
)
def test_the_rule_notices(file: str, line: str, fault: str) -> None:
    faults = [text for found in imports_of(line, file) for text in layer_faults(found)]
    assert any(fault in text for text in faults), faults


@pytest.mark.parametrize(
    "line",
    [
        "import os",
        "import os.path",
        "from subprocess import run",
        "from pathlib import Path",
        "import pathlib",
        "import time",
        "import importlib",
        "def parse(outcome):\n    return open('/etc/passwd').read()",
        "def parse(outcome):\n    return outcome.path.read_text()",
    ],
)
def test_purity_notices(line: str) -> None:
    assert list(purity_faults(line, "facts/some.py"))


def test_purity_lets_pass_what_is_pure() -> None:
    assert not list(
        purity_faults(
            "import re\nfrom pathlib import PurePosixPath\nfrom fleetops.model.fact import Fact", "facts/x.py"
        )
    )
