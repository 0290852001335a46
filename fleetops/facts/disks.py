"""How full a host's own file systems are: blocks and inodes, and /dev/shm.

Only local types that can be written to are asked, a tmpfs where it holds /var or /var/log (log2ram and the like), and
/dev/shm, whatever file system that lies in: df on a network file system whose server is gone hangs in D state. Each
device once, however often it is mounted somewhere else; a container's own dataset on its hypervisor is the container's
affair (Proxmox calls it `subvol-ID-disk-N`).
"""

import re
from collections.abc import Iterable, Iterator

from fleetops.facts.output import finished_lines
from fleetops.facts.scripts import PLAIN_TEXT
from fleetops.model.command import Outcome, shell
from fleetops.model.disk import FILE_SYSTEMS, FileSystem, FileSystems
from fleetops.model.fact import Fact, Unanswered, Unparsable

SCRIPT = (
    PLAIN_TEXT
    + """\
set -f
set --
for mount in $(awk '
  shown[$2] || $2 == "/dev/shm" { next }
  $2 == "/" { shown[$2] = 1; devices[$1] = 1; print $2; next }
  $3 == "tmpfs" && $2 ~ /^[/]var([/]log)?$/ { shown[$2] = 1; print $2; next }
  $3 !~ /^(ext[234]|xfs|btrfs|zfs|f2fs|bcachefs|jfs|reiserfs|vfat)$/ || $4 ~ /^ro(,|$)/ { next }
  devices[$1] || $2 ~ /[/]subvol-[0-9]+-disk-[0-9]+$/ { next }
  count++ < 200 { shown[$2] = 1; devices[$1] = 1; print $2 }' /proc/mounts); do
  mount=$(printf '%b' "$mount")
  set -- "$@" "$mount"
  printf 'asked %s\\n' "$mount"
done
if [ -d /dev/shm ]; then
  set -- "$@" /dev/shm
  echo "asked /dev/shm"
fi
for unit in k i; do
  echo "df $unit"
  timeout -k 1 4 df -P "-$unit" -- "$@"
  echo "status $?"
done
echo end
"""
)

_ROW = re.compile(r"(.*?) +([0-9]+|-) +([0-9]+|-) +(-?[0-9]+|-) +(?:[0-9]+%|-) +(/.*)")
_LATE = frozenset({"status 124", "status 137"})


def parse(outcome: Outcome) -> FileSystems:
    """As they were asked for. Raises Unanswered where df hung, Unparsable where it tells nothing of the root."""
    found = finished_lines(outcome)
    if _LATE & set(found):
        raise Unanswered("df did not answer in 4 s: a file system hangs")
    asked = [line.removeprefix("asked ") for line in found if line.startswith("asked ")]
    blocks, inodes = (_rows(_section(found, f"df {unit}"), asked) for unit in "ki")
    if "/" not in blocks:
        raise Unparsable(f"df tells nothing of the root: {outcome.said}")
    return FileSystems(
        mounted=tuple(
            _file_system(mount, blocks[mount], inodes.get(mount)) for mount in asked if mount in blocks
        ),
        unread=tuple(mount for mount in asked if mount not in blocks),
    )


def _section(found: list[str], name: str) -> list[str]:
    """The lines between `name` and the next status. Raises Unparsable where one of them is missing."""
    start = found.index(name) + 1 if name in found else len(found)
    stop = next((at for at in range(start, len(found)) if found[at].startswith("status ")), None)
    if stop is None:
        raise Unparsable(f"df's answer is missing ({name})")
    return found[start:stop]


def _rows(section: list[str], asked: list[str]) -> dict[str, re.Match[str]]:
    """What was asked for -> its row: source, size, used, free and where that is mounted, as text.

    df answers in order; where it failed on one, the others are known by where they are mounted.
    """
    rows = list(_matches(section))
    if len(rows) == len(asked):
        return dict(zip(asked, rows, strict=True))
    return {row[5]: row for row in rows}


def _matches(section: Iterable[str]) -> Iterator[re.Match[str]]:
    for line in section:
        if match := _ROW.fullmatch(line):
            yield match
        elif not line.endswith(" Mounted on"):
            raise Unparsable(f"not a line of df: {line[:80]!r}")


def _file_system(mount: str, blocks: re.Match[str], inodes: re.Match[str] | None) -> FileSystem:
    total, free = (int(inodes[at]) if inodes and inodes[at] != "-" else None for at in (2, 4))
    return FileSystem(
        mount=mount,
        source=blocks[1],
        size_bytes=int(blocks[2]) * 1024,
        used_bytes=int(blocks[3]) * 1024,
        available_bytes=int(blocks[4]) * 1024,
        inodes=total or None,
        inodes_free=free if total else None,
    )


FACT: Fact[FileSystems] = Fact(FILE_SYSTEMS, shell(SCRIPT, deadline_s=12.0), parse)
