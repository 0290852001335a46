"""An operator in a process of its own: runs one command line after another, and stops right before the lock until told to go on.

Run as `python -P operator_process.py LOCK`. Standard input: a JSON argv a line, then `go`, and so on. Standard output:
`ready` when it is about to take LOCK, then one JSON object with how the command ended.
"""

import io
import json
import sys

from fleetops.cli.program import run
from fleetops.cli.world import World
from fleetops.playbook import desk
from fleetops.playbook.lock import Owner
from fleetops.ssh.session import SshSession

_take = desk.take_lock


def say(text: str) -> None:
    """One line to whoever started this."""
    sys.__stdout__.write(text + "\n")
    sys.__stdout__.flush()


def at_the_lock(session: SshSession, name: str, owner: Owner, lease_s: int) -> None:
    """desk.take_lock, at the moment at which the other operator does the same."""
    if name == sys.argv[1]:
        say("ready")
        sys.stdin.readline()
    _take(session, name, owner, lease_s)


if __name__ == "__main__":
    desk.take_lock = at_the_lock  # type: ignore[assignment]
    while line := sys.stdin.readline():
        out, err = io.StringIO(), io.StringIO()
        code = run(json.loads(line), World(stdin=io.StringIO(), stdout=out, stderr=err))
        say(json.dumps({"code": int(code), "stdout": out.getvalue(), "stderr": err.getvalue()}))
