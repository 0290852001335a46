"""The programs of others: where they are, and which release."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_ASK_S = 60.0


@dataclass(frozen=True)
class Tools:
    """Programs are taken from the benchmark's own environment first, then from PATH."""

    venv: Path

    def find(self, *names: str) -> str:
        """The first of these programs that is there, by its path; "" where none is."""
        for name in names:
            for path in (str(self.venv / "bin"), None):
                if found := shutil.which(name, path=path):
                    return found
        return ""

    @property
    def python(self) -> str:
        """The interpreter of the benchmark's own environment; "" where there is none."""
        return shutil.which("python", path=str(self.venv / "bin")) or ""

    def distribution(self, name: str) -> str:
        """The release of a Python package in that environment; "" where it is not there."""
        ask = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"
        return said(self.python, "-c", ask, name).strip() if self.python else ""

    def release(self, *names: str, option: str = "--version") -> str:
        """What a program says of its release, the number alone; "" where the program is not there."""
        found = self.find(*names)
        return first_number(said(found, option)) if found else ""


@cache
def said(*argv: str) -> str:
    """What a program prints, on either stream; "" where it fails or is not there. Each is asked once: some take a second."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=_ASK_S)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout + done.stderr


def first_number(text: str) -> str:
    """The first thing in it that looks like a release: `clush 1.10.1` is 1.10.1, `OpenSSH_9.2p1` is 9.2p1."""
    found = re.search(r"\d+(\.\d+)+[-.\w]*", text)
    return found[0] if found else ""
