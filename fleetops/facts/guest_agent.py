"""The machine-id of a VM, asked of the agent inside it: which machine this guest is, whatever answers by SSH.

`qm guest exec` ends with 0 whatever became of the command: its own status stands in the JSON, and a command that is not
done in time has only a pid there (facts/recovery.md A6). Neither is an answer.
"""

import json
import re

from fleetops.facts.output import lines, require_tool
from fleetops.facts.proxmox import require_guest
from fleetops.model.command import Command, Outcome
from fleetops.model.fact import Absent, Fact, Unparsable
from fleetops.model.guest import AGENT

# qm's own default of 30 s is what a wedged guest would cost each reading.
_WAIT_S = 5


def fact(guest_id: int) -> Fact[str]:
    """The machine-id of VM `guest_id`."""
    argv = (
        *("qm", "guest", "exec", str(guest_id), "--timeout", str(_WAIT_S)),
        *("--", "cat", "/etc/machine-id"),
    )
    return Fact(AGENT, Command(argv=argv, deadline_s=15.0, root=True), parse)


def parse(outcome: Outcome) -> str:
    """Raises Absent where no agent answers, Unparsable where it did not tell a machine-id."""
    require_tool(outcome, "qm")
    require_guest(outcome)
    if not outcome.ok:
        raise Absent(f"no guest agent answers: {outcome.said}")
    lines(outcome)
    told = json.loads(outcome.stdout)
    if not isinstance(told, dict) or "exitcode" not in told:
        raise Unparsable(f"the guest agent did not answer in {_WAIT_S} s")
    if told["exitcode"] != 0:
        said = str(told.get("err-data") or "").strip()
        raise Unparsable(f"reading the machine-id in the guest failed with status {told['exitcode']}: {said}")
    machine_id = str(told.get("out-data") or "").strip()
    if not re.fullmatch(r"[0-9a-f]{32}", machine_id):
        raise Unparsable(f"the guest agent told no machine-id: {machine_id[:60]!r}")
    return machine_id
