"""Which machine answers, and since when it runs. In a container `boot_id` is that of its host's kernel, or LXC's own for
each start of it (LXC 5.0; measured).

In a container with lxcfs /proc/uptime is the container's own, while processes' start times are the kernel's: how long that
has been up is read from the start time of the reading shell, which has only just begun.
"""

import re

from fleetops.facts.output import lines
from fleetops.model.command import Outcome, shell
from fleetops.model.fact import Fact, Unparsable
from fleetops.model.machine import IDENTITY, TICKS_PER_S, Identity

SCRIPT = """\
show() {
  value=
  if [ -r "$2" ]; then read -r value < "$2"; fi
  printf '%s %s\\n' "$1" "$value"
}
show hostname /proc/sys/kernel/hostname
show machine_id /etc/machine-id
show boot_id /proc/sys/kernel/random/boot_id
show uptime /proc/uptime
{ read -r stat < /proc/self/stat; } 2>/dev/null && set -f && set -- ${stat##*) } && printf 'ticks %s\\n' "${20}"
true
"""


def parse(outcome: Outcome) -> Identity:
    """Raises Unparsable where the kernel's own three are missing; a missing machine-id is an empty one."""
    fields = dict(line.split(" ", 1) for line in lines(outcome) if " " in line)
    missing = [name for name in ("hostname", "boot_id", "uptime") if not fields.get(name)]
    if missing:
        raise Unparsable(f"the kernel told no {', '.join(missing)}")
    machine_id = fields.get("machine_id", "").strip()
    return Identity(
        hostname=fields["hostname"].strip(),
        machine_id=machine_id if re.fullmatch(r"[0-9a-f]{32}", machine_id) else "",
        boot_id=fields["boot_id"].strip(),
        uptime_s=float(fields["uptime"].split()[0]),
        kernel_uptime_s=int(fields["ticks"]) / TICKS_PER_S if "ticks" in fields else None,
    )


FACT: Fact[Identity] = Fact(IDENTITY, shell(SCRIPT), parse)
