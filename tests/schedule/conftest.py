"""A machine under a folder: its systemd and its cron are stand-ins on PATH that keep what they are told."""

import io
import json
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fleetops.cli.program import run
from fleetops.cli.world import World

# Tells what it was called with; what a file `show.UNIT` says, it shows of that unit; what stands in `fails`, fails.
SYSTEMCTL = """\
#!/bin/sh
echo "$*" >> "$STAND_IN/calls"
if [ -e "$STAND_IN/fails" ] && grep -qxF -- "$*" "$STAND_IN/fails"; then echo "Failed to do that: no" >&2; exit 1; fi
for last; do :; done
case $* in *show*) cat "$STAND_IN/show.$last" 2>/dev/null; exit 0 ;; esac
"""
# As Debian's: an empty one is none, and says so; it takes no text without a newline at its end.
CRONTAB = """\
#!/bin/sh
tab=$STAND_IN/crontab
if [ -e "$STAND_IN/crontab-fails" ]; then cat "$STAND_IN/crontab-fails" >&2; exit 1; fi
case $1 in
-l) if [ -e "$tab" ]; then cat "$tab"; else echo "no crontab for ada" >&2; exit 1; fi ;;
-r) rm "$tab" ;;
-) cat > "$tab.new"; [ "$(tail -c 1 "$tab.new")" ] && { echo "new crontab file is missing newline" >&2; exit 1; }; mv "$tab.new" "$tab" ;;
esac
"""


class Desk:
    """The command line in this process, on an inventory of two hosts, and the machine that it acts on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root, self.stand_in, self.bin = (folder / name for name in ("root", "stand-in", "bin"))
        self.home = folder / "home"
        for made in (self.root, self.stand_in, self.bin, self.home, folder / "inventory"):
            made.mkdir()
        (folder / "inventory/fleet.yaml").write_text(
            "nodes: {n1: {address: 127.0.0.1}, n2: {address: 127.0.0.2}}\n"
        )
        for tool in ("flock", "timeout", "sh", "grep", "cat", "rm", "mv", "tail", "env", "nice"):
            self.program(tool, f'#!/bin/sh\nPATH=/usr/bin:/bin exec {tool} "$@"\n')
        self.environ = {
            "HOME": str(self.home),
            "PATH": str(self.bin),
            "STAND_IN": str(self.stand_in),
            "FLEETOPS_STATE": str(folder / "state"),
            "FLEETOPS_CACHE": str(folder / "cache"),
        }
        self.now = 1_800_000_000.0

    def program(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(stat.S_IRWXU)

    def with_systemd(self) -> "Desk":
        (self.root / "run/systemd/system").mkdir(parents=True)
        self.program("systemctl", SYSTEMCTL)
        return self

    def with_cron(self) -> "Desk":
        self.program("crontab", CRONTAB)
        return self

    def __call__(self, *words: str) -> "Desk":
        out, err = io.StringIO(), io.StringIO()
        world = World(
            stdin=io.StringIO(),
            stdout=out,
            stderr=err,
            environ=self.environ,
            cwd=self.folder,
            clock=lambda: self.now,
            root=self.root,
        )
        self.status = run(["schedule", *words], world)
        self.stdout, self.stderr = out.getvalue(), err.getvalue()
        assert "defect" not in self.stderr, self.stderr
        return self

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)

    @property
    def calls(self) -> Sequence[str]:
        file = self.stand_in / "calls"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def units(self) -> Path:
        return self.root / "etc/systemd/system"

    def unit(self, kind: str) -> Path:
        (found,) = self.units.glob(f"fleetops-sweep-*.{kind}")
        return found

    @property
    def crontab(self) -> Path:
        return self.stand_in / "crontab"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def is_root() -> bool:
    return os.getuid() == 0
