"""systemd's units that have failed on a host, by name."""

from fleetops.facts.output import finished_lines
from fleetops.facts.scripts import PLAIN_TEXT
from fleetops.model.command import Outcome, shell
from fleetops.model.fact import Absent, Fact, Unparsable
from fleetops.model.machine import FAILED_UNITS

SCRIPT = (
    PLAIN_TEXT
    + """\
if [ -d /run/systemd/system ] && command -v systemctl > /dev/null; then
  timeout -k 1 5 systemctl list-units --failed --plain --no-legend --no-pager < /dev/null || echo "silent $?"
else
  echo none
fi
echo end
"""
)

_LOADED = frozenset({"loaded", "not-found", "bad-setting", "error", "masked", "stub", "merged"})


def parse(outcome: Outcome) -> tuple[str, ...]:
    """In systemd's order. Raises Absent where no systemd runs, Unparsable where it does not answer."""
    found = finished_lines(outcome)
    if found == ["none"]:
        raise Absent("no systemd runs on this host")
    if found and found[-1].startswith("silent "):
        why = outcome.stderr.strip().rpartition("\n")[2] or f"status {found[-1].removeprefix('silent ')}"
        raise Unparsable(f"systemd does not tell which units have failed: {why}")
    return tuple(_name(line) for line in found)


def _name(line: str) -> str:
    """`UNIT LOAD ACTIVE SUB DESCRIPTION`, in older releases behind a bullet all the same."""
    words = line.removeprefix("\u25cf").removeprefix("*").split()
    if len(words) < 4 or words[1] not in _LOADED or words[2] != "failed":
        raise Unparsable(f"not a line of a failed unit: {line[:80]!r}")
    return words[0]


FACT: Fact[tuple[str, ...]] = Fact(FAILED_UNITS, shell(SCRIPT), parse)
