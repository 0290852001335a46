"""ZFS's cache in the memory of a hypervisor: the kernel counts it as used, yet most of it comes back when asked for.

/proc/spl/kstat/zfs/arcstats: `NAME TYPE DATA` in rows, `size` what it has now and `c_min` what it keeps, in bytes.
"""

from fleetops.facts.output import finished_lines
from fleetops.model.command import Outcome, shell
from fleetops.model.fact import Absent, Fact, Unparsable
from fleetops.model.guest import ARC, Arc

SCRIPT = """\
file=/proc/spl/kstat/zfs/arcstats
if [ -e "$file" ]; then grep -E '^(size|c_min) ' "$file"; else echo none; fi
echo end
"""


def parse(outcome: Outcome) -> Arc:
    """Raises Absent on a host without ZFS, Unparsable where its statistics are of another form."""
    found = finished_lines(outcome)
    if found == ["none"]:
        raise Absent("no ZFS is loaded on this host")
    told = {words[0]: words[2] for words in map(str.split, found) if len(words) == 3}
    if not {"size", "c_min"} <= told.keys():
        raise Unparsable("the statistics of ZFS's cache tell no size or c_min")
    return Arc(size_bytes=int(told["size"]), least_bytes=int(told["c_min"]))


FACT: Fact[Arc] = Fact(ARC, shell(SCRIPT), parse)
