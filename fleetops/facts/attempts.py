"""Which runs have reset a node's GPUs or switched its power: one JSON object a line, on the host that counts them.

That is the node's hypervisor, else the node itself. Time is that host's own uptime: its wall clock may be set at any
time. So what was counted ends with its boot, as /run itself does: a host that a person has restarted begins anew.
"""

import json

from fleetops.facts.output import finished_lines
from fleetops.model.attempts import ATTEMPTS, Attempt
from fleetops.model.command import Outcome, shell
from fleetops.model.fact import Fact, Unparsable

FOLDER = "/run/fleetops/attempts"

# $1 folder, $2 node.
SCRIPT = r"""
read -r up _ < /proc/uptime
read -r boot < /proc/sys/kernel/random/boot_id
echo "now ${up%.*} $boot"
if [ -e "$1/$2" ]; then cat "$1/$2" || exit; fi
echo end
"""


def fact(node: str) -> Fact[tuple[Attempt, ...]]:
    """The attempts at the node of that inventory name."""
    return Fact(ATTEMPTS, shell(SCRIPT, FOLDER, node, name="fleetops-attempts", root=True), parse)


def parse(outcome: Outcome) -> tuple[Attempt, ...]:
    """The newest first. Nothing was counted where there is no file. Raises Unparsable where a line cannot be read."""
    now, *found = finished_lines(outcome) or [""]
    word, up, boot = (*now.split(), "", "", "")[:3]
    if word != "now" or not up.isdecimal() or not boot:
        raise Unparsable(f"it does not say what time it is there: {now[:80]!r}")
    attempts = [one for line in found if (one := _attempt(line, int(up), boot))]
    return tuple(sorted(attempts, key=lambda one: one.ago_s))


def _attempt(line: str, up_s: int, boot: str) -> Attempt | None:
    try:
        told = json.loads(line)
        made = Attempt(
            run_id=str(told["run"]["run_id"]),
            by=str(told["run"]["by"]),
            ago_s=float(up_s - int(told["at_uptime"])),
        )
        return made if str(told["boot_id"]) == boot else None
    except (ValueError, KeyError, TypeError) as error:
        raise Unparsable(f"not a line of counted attempts: {line[:80]!r}") from error
