"""Does a silent node say its SSH banner to its hypervisor? Then it is the way to it that is at fault, not the node.

Read on the hypervisor. bash connects (every Proxmox host has it); `timeout` ends what gets no answer.
"""

from fleetops.facts.output import lines
from fleetops.model.command import Outcome, shell
from fleetops.model.fact import Absent, Fact, Unparsable
from fleetops.model.machine import SSH_ANSWER, PortAnswer

_WAIT_S = 5

SCRIPT = """\
command -v bash >/dev/null || exit 127
said=$(timeout "$3" bash -c '
  exec 3<>"/dev/tcp/$1/$2" || exit 1
  echo connected
  read -r line <&3 && printf "said %s\\n" "$line"' fleetops "$1" "$2" 2>&1)
printf 'status %s\\n%s\\n' "$?" "$said"
"""
"""$1 address, $2 port, $3 seconds. Prints `status N`, then `connected` once it is, then `said LINE`, or bash's complaint."""


def fact(address: str, port: int, wait_s: int = _WAIT_S) -> Fact[PortAnswer]:
    """What the port at `address` says within `wait_s` to the host that this is read on."""
    command = shell(SCRIPT, address, str(port), str(wait_s), deadline_s=wait_s + 5.0)
    return Fact(SSH_ANSWER, command, parse)


def parse(outcome: Outcome) -> PortAnswer:
    """Raises Absent where there is no bash, Unparsable where nothing was learnt (an address that does not resolve)."""
    found = lines(outcome)
    if not found:
        raise Absent("there is no bash on this host")
    if any(line.startswith("said SSH-") for line in found):
        return PortAnswer.BANNER
    if "connected" in found:
        return PortAnswer.SILENT if found[0] == "status 124" else PortAnswer.CLOSED
    if found[0] == "status 124":
        return PortAnswer.NO_ANSWER
    if any("onnection refused" in line for line in found):
        return PortAnswer.REFUSED
    if any("timed out" in line or "No route to host" in line for line in found):
        return PortAnswer.NO_ANSWER
    raise Unparsable(f"its SSH port could not be tried: {found[-1]}")
