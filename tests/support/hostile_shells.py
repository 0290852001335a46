"""The shells that a host's `sh` may be, each first on a PATH of its own."""

import os
import shutil
import subprocess
from pathlib import Path

from fleetops.model.command import Command
from fleetops.ssh import quote
from fleetops.ssh.streams import Sections

SHELLS = tuple(name for name in ("dash", "bash", "busybox") if shutil.which(name))


def path_with(folder: Path, shell: str) -> str:
    """A PATH on which `sh` is this shell."""
    programs = folder / f"as-{shell}"
    if not programs.exists():
        programs.mkdir(parents=True)
        (programs / "sh").symlink_to(str(shutil.which(shell)))
    return f"{programs}:{os.environ['PATH']}"


def run_in(shell: str, command: Command, folder: Path) -> tuple[int, bytes, bytes]:
    """What sshd and a login shell would make of a command: status, and what it printed between its markers."""
    path, nonce = path_with(folder, shell), quote.new_nonce()
    done = subprocess.run(
        ["sh", "-c", quote.command_line(command, nonce)],
        input=quote.command_input(command, nonce),
        capture_output=True,
        cwd=folder,
        env={"PATH": path, "HOME": str(folder), "LC_ALL": "C.UTF-8"},
        timeout=60,
        check=False,
        executable=str(Path(path.partition(":")[0]) / "sh"),
    )
    both = []
    for text in (done.stdout, done.stderr):
        sections = Sections(nonce, [1 << 22], closed=False)
        sections.feed(text)
        sections.finish()
        both.append(sections.part(0).content)
    return done.returncode, both[0], both[1]
