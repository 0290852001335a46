"""Starting is cheap: nothing heavy is imported before a command needs it."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "fabric",
    "invoke",
    "paramiko",
    "rich",
    "yaml",
    "cryptography",
    "asyncio",
    "sqlite3",
    "prometheus_client",
}
RUN = "import sys; sys.argv[0] = 'fleetops'; from fleetops.cli.main import entry; entry()"
ALLOWED_S = 0.050  # on top of bare Python, as the design states it


def fleetops(*words: str, python: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *python, "-c", RUN, *words], capture_output=True, text=True, check=False, timeout=60
    )


def imported_by(*words: str) -> set[str]:
    """Top-level names of everything the interpreter imported while it ran."""
    log = fleetops(*words, python=("-X", "importtime")).stderr
    return {line.rsplit("|", 1)[-1].strip().split(".")[0] for line in log.splitlines() if "|" in line}


def command_names() -> list[str]:
    from fleetops.cli.program import subcommands

    return [command.NAME for command in subcommands()]


def test_the_log_of_imports_is_read_right() -> None:
    assert {"argparse", "fleetops"} <= imported_by("--help")


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("probe", "--help"), ()], ids=" ".join)
def test_help_and_version_import_nothing_heavy(words: tuple[str, ...]) -> None:
    assert not imported_by(*words) & HEAVY


@pytest.mark.parametrize("command", command_names())
def test_the_help_of_every_command_imports_nothing_heavy(command: str) -> None:
    assert not imported_by(command, "--help") & HEAVY


def test_version_answers() -> None:
    from fleetops import __version__

    answer = fleetops("--version")
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, f"fleetops {__version__}\n", "")


def test_help_names_every_command() -> None:
    first_words = {line.split()[0] for line in fleetops("--help").stdout.splitlines() if line.strip()}
    assert not set(command_names()) - first_words


def cpu_seconds(argv: list[str], compiled: Path) -> float:
    """Processor time of one run: what the machine's other work does not change much. It is compiled once, as installed."""
    env = {**os.environ, "PYTHONPYCACHEPREFIX": str(compiled)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, capture_output=True, check=True, env=env)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def test_starting_costs_little_more_than_bare_python(tmp_path: Path) -> None:
    # The least of several: what is left then is the program's own, not a cold cache or a busy neighbour.
    bare = [sys.executable, "-c", "pass"]
    ours = [sys.executable, "-c", RUN, "--version"]
    extra = 1.0
    for _ in range(20):
        pairs = [(cpu_seconds(ours, tmp_path), cpu_seconds(bare, tmp_path)) for _ in range(3)]
        extra = min(extra, min(own for own, _ in pairs) - min(plain for _, plain in pairs))
        if extra <= ALLOWED_S:
            return
    assert extra <= ALLOWED_S


INTERRUPTED_AT = """\
import os, signal, sys

class Interrupting:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting)
from fleetops.cli.main import entry
entry()
"""


@pytest.mark.parametrize(
    "module", ["fleetops.cli.program", "argparse", "fleetops.cli.world", "fleetops.cli.probe"]
)
def test_an_interruption_while_the_program_loads_ends_it_quietly(module: str) -> None:
    answer = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_AT, module, "--help"], capture_output=True, text=True, check=False
    )
    assert (answer.returncode, answer.stdout) == (130, "")
    assert answer.stderr in {"", "error: interrupted\n"}


def test_the_entry_point_loads_nothing_before_it_can_be_interrupted() -> None:
    listing = (
        "import sys; known = set(sys.modules); import fleetops.cli.main; print(*(set(sys.modules) - known))"
    )
    answer = subprocess.run([sys.executable, "-S", "-c", listing], capture_output=True, text=True, check=True)
    assert set(answer.stdout.split()) == {"fleetops", "fleetops.cli", "fleetops.cli.main"}
