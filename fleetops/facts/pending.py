"""Changes of a guest's configuration that its next start would apply (`qm pending`, `pct pending`).

One line for a value in force (`cur KEY: VALUE`), one more where another is to come (`new KEY: VALUE`), and `del KEY: VALUE`
where it is to go (pve-guest-common, GuestHelpers.pm format_pending). The same is told from the configuration's file: each
call of the tools loads all of Proxmox, for up to a second of CPU, and a recovery looks dozens of times. What is to come
stands there in a section of its own, and what is to go in that section's `delete: KEY,!KEY` (`!` where it is forced;
AbstractConfig.pm parse_pending_delete).
"""

import re

from fleetops.facts.guest import TOOLS
from fleetops.facts.output import lines, require_ok
from fleetops.facts.proxmox import require_guest
from fleetops.facts.scripts import PLAIN_TEXT
from fleetops.model.command import Outcome, shell
from fleetops.model.fact import Fact, Unparsable
from fleetops.model.guest import PENDING, PendingChange

SCRIPT = (
    PLAIN_TEXT
    + """\
if [ "$1" = qm ]; then
  folder=qemu-server
  section=[pending]
else
  folder=lxc
  section=[pve:pending]
fi
file=/etc/pve/$folder/$2.conf
if [ -s "$file" ]; then
  exec awk -v wanted="$section" '
    /^#/ || /^[ \t]*$/ { next }
    /^\\[/ { inside = 1; to_come = (index(tolower($0), wanted) == 1); next }
    inside && !to_come { next }
    inside && /^delete:/ {
      sub(/^delete: */, "")
      gsub(/!/, "")
      count = split($0, keys, /[ ,;]+/)
      for (at = 1; at <= count; at++) going[keys[at]] = 1
      next
    }
    inside { print "new " $0; next }
    { now[++last] = $0 }
    END {
      for (at = 1; at <= last; at++) {
        key = now[at]
        sub(/[ :=].*/, "", key)
        print ((key in going) ? "del " : "cur ") now[at]
      }
    }' "$file"
fi
exec "$1" pending "$2"
"""
)
"""$1 pct or qm, $2 the guest's id. Where there is no such file Proxmox's own tool says why."""

_LINE = re.compile(r"(cur|new|del) ([A-Za-z][\w.-]*)(?::| *=) ?(.*)", re.DOTALL)


def fact(kind: str, guest_id: int) -> Fact[tuple[PendingChange, ...]]:
    """The pending changes of guest `guest_id`, `kind` being `lxc` or `vm`."""
    return Fact(PENDING, shell(SCRIPT, TOOLS[kind], str(guest_id), deadline_s=20.0, root=True), parse)


def parse(outcome: Outcome) -> tuple[PendingChange, ...]:
    """By key. Raises Absent for an unknown guest, Unparsable for an answer of another form."""
    require_guest(outcome)
    require_ok(outcome, "the tool")
    told: dict[str, dict[str, str]] = {"cur": {}, "new": {}, "del": {}}
    for line in lines(outcome):
        match = _LINE.fullmatch(line)
        if match is None:
            raise Unparsable(f"not a line of a pending configuration: {line[:80]!r}")
        told[match[1]][match[2]] = match[3]
    if not any(told.values()):
        raise Unparsable("a configuration without a single value")
    changes = [
        PendingChange(key=key, now=told["cur"].get(key), then=then) for key, then in told["new"].items()
    ]
    changes += [PendingChange(key=key, now=now, then=None) for key, now in told["del"].items()]
    return tuple(sorted(changes, key=lambda change: change.key))
