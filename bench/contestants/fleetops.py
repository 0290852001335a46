"""fleetops itself, as this checkout has it."""

import json
import sys
from typing import Any

from bench.contestants.base import Contestant, Task
from bench.fleet import ROOT, Fleet
from bench.measure import Finished, Invocation
from bench.tools import Tools
from fleetops import __version__

# As its console script does, which may belong to another checkout.
_ENTRY = "import sys; sys.argv[0] = 'fleetops'; from fleetops.cli.main import entry; entry()"


def fleetops(fleet: Fleet, *words: str, deadline_s: float = 300.0) -> Invocation:
    """`fleetops WORDS` on this fleet's inventory, with a state and a cache of its own."""
    own = {
        "PYTHONPATH": str(ROOT),
        "FLEETOPS_INVENTORY": str(fleet.inventory),
        "FLEETOPS_STATE": str(fleet.folder / "state"),
        "FLEETOPS_CACHE": str(fleet.folder / "cache"),
    }
    return Invocation(
        argv=[sys.executable, "-c", _ENTRY, *words], environ=fleet.environ(**own), deadline_s=deadline_s
    )


def _invocation(fleet: Fleet, _: Tools, task: Task) -> Invocation:
    return fleetops(fleet, "run", "*", "--json", "--", *task.words)


def answered(finished: Finished, expected: str) -> int:
    """Hosts in the JSON of `fleetops run` whose last line is this one."""
    return sum(
        len(answer["hosts"])
        for answer in parsed(finished).get("answers", [])
        if answer["status"] == 0 and answer["stdout"].splitlines()[-1:] == [expected]
    )


def parsed(finished: Finished) -> dict[str, Any]:
    """Its JSON; empty where it printed none."""
    try:
        body = json.loads(finished.stdout)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


FLEETOPS = Contestant(
    name="fleetops",
    install="make",
    version=lambda _: __version__,
    invocation=_invocation,
    answered=answered,
)
