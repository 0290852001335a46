"""A state folder with runs in it, recorded or made up, and what `fleetops runs` says of them."""

import io
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fleetops.cli.program import run
from fleetops.cli.world import World

_STYLE = re.compile(r"\x1b\[[0-9;]*m")
RECORDED = Path(__file__).parent / "recorded"
INVENTORY = """\
nodes:
  node-174: {address: 127.0.0.1, profile: hicache48}
profiles:
  hicache48:
    engine: sglang
    model: /models/example
    ranks: 8
    port: 30000
    flags: {api-key: planted-flag-value}
    environment: {SITE_KEY: planted-site-value, HF_TOKEN: planted-environment-value}
"""


class Screen(io.StringIO):
    """A stream that is, or is not, a terminal."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


@dataclass(frozen=True)
class Said:
    """What one call came to."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)


class Runs:
    """A folder from which `fleetops` is called, with its own inventory and state."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        (folder / "inventory").mkdir()
        (folder / "inventory" / "fleet.yaml").write_text(INVENTORY)

    def recorded(self, case: str) -> str:
        """Put a recorded run under its own id; the id."""
        lines = (RECORDED / case / "journal.jsonl").read_text().splitlines()
        return self.made(json.loads(lines[0])["by"]["run_id"], [json.loads(line) for line in lines])

    def made(self, run_id: str, events: Sequence[Mapping[str, Any]]) -> str:
        """Put a run with these events under this id."""
        folder = self.of(run_id)
        folder.mkdir(parents=True)
        (folder / "journal.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
        return run_id

    def of(self, run_id: str) -> Path:
        return self.state / "runs" / run_id

    def call(
        self, *words: str, columns: int = 100, is_terminal: bool = False, terminal: str = "dumb"
    ) -> Said:
        stdout, stderr = Screen(is_terminal=is_terminal), Screen(is_terminal=False)
        environ = {
            "NO_COLOR": "1",
            "COLUMNS": str(columns),
            "TERM": terminal,
            "FLEETOPS_STATE": str(self.state),
        }
        world = World(stdin=io.StringIO(), stdout=stdout, stderr=stderr, environ=environ, cwd=self.folder)
        code = run(["runs", *words], world)
        return Said(code, stdout.getvalue(), stderr.getvalue())

    def screen(self, run_id: str, *, columns: int = 100, is_terminal: bool = False) -> str:
        """The story as it is shown, the state folder named alike on every machine."""
        # A dumb terminal would have 80 columns whatever is said; styles are left out again.
        said = self.call("show", run_id, columns=columns, is_terminal=is_terminal, terminal="xterm")
        assert (said.code, said.stderr) == (0, "")
        return _STYLE.sub("", said.stdout).replace(str(self.state), "STATE")

    def remove(self, run_id: str) -> None:
        shutil.rmtree(self.of(run_id))
