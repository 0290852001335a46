"""The real command line in a process of its own, as its user would run it."""

import json
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Ran:
    """What a command line gave."""

    status: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)

    @property
    def error(self) -> Any:
        return json.loads(self.stderr.strip().splitlines()[-1])


@dataclass(frozen=True)
class CommandLine:
    """fleetops against one inventory, from an empty folder."""

    inventory: Path
    cwd: Path

    def argv(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "fleetops", *words[:1], "--inventory", str(self.inventory), *words[1:]]

    def typed(self, *words: str) -> str:
        """The same as fleetops tells it to a person: with the inventory that its own command named."""
        return shlex.join(["fleetops", *self.argv(*words)[3:]])

    def __call__(self, *words: str, stdin: str = "", timeout: float = 150) -> Ran:
        done = subprocess.run(
            self.argv(*words),
            input=stdin,
            capture_output=True,
            text=True,
            cwd=self.cwd,
            env=clean_environment(),
            timeout=timeout,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        return Ran(done.returncode, done.stdout, done.stderr)

    def start(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            self.argv(*words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.cwd,
            env=clean_environment(),
        )


def clean_environment() -> dict[str, str]:
    """The environment without anything that would point fleetops elsewhere; the cache stays where the tests keep it.

    Nor with a screen's size: one may be exported by a shell, or by what runs the tests.
    """
    kept = {"FLEETOPS_CACHE"}
    return {
        name: value
        for name, value in os.environ.items()
        if name in kept or not name.startswith(("FLEETOPS", "XDG_", "COLUMNS", "LINES"))
    }
