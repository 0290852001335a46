"""Shared-memory segments: files of /dev/shm and SysV segments, with who made them and who still has them.

SIGKILL skips every unlink: what stays is memory that no process's RSS shows. Names that tell their maker are those of
SGLang (`sgl_shm_<kind>_<pid>_<rand>`, `multi_tokenizer_args_<pid>`; sglang#40723, PR#28089) and of torch's own
shared tensors (`torch_<pid>_<rand>_<n>`).
"""

import re
from collections.abc import Iterator

from fleetops.facts.output import SEPARATOR, finished_lines, proc_files, proc_links, require_not_denied
from fleetops.facts.scripts import LINKS, PLAIN_TEXT, RETRIED
from fleetops.model.command import Outcome, shell
from fleetops.model.fact import Fact, Unparsable
from fleetops.model.machine import SEGMENTS, Segment

SCRIPT = (
    PLAIN_TEXT
    + LINKS
    + RETRIED
    + """\
echo "now $(date +%s)"
if [ -d /dev/shm ]; then
  find /dev/shm -xdev -type f -printf 'file %s %T@ %p\\0' | tr '\\n\\000' '\\037\\n'
fi
if [ -r /proc/sysvipc/shm ]; then sed 's/^/sysv /' /proc/sysvipc/shm; fi
links '/dev/shm/*'
pattern='[0-9] */\\(dev/shm/\\|SYSV\\)'
retried /proc/[0-9]*/maps
zombie_tasks | sed 's|$|/maps|' | xargs timeout -k 1 3 grep -saH "$pattern"
echo end
"""
)

_MAKERS = (
    re.compile(r"sgl_shm_[a-z_]+?_(\d+)_\w+"),
    re.compile(r"multi_tokenizer_args_(\d+)"),
    re.compile(r"torch_(\d+)_\d+_\d+"),
)


def parse(outcome: Outcome) -> tuple[Segment, ...]:
    """By name. A process whose mappings could not be read counts as a mapper of every segment: nobody may remove
    what it might still use. Raises Unparsable where processes could not be looked into.
    """
    require_not_denied(outcome)
    found = finished_lines(outcome)
    if not found or not found[0].startswith("now "):
        raise Unparsable(f"no shared memory could be read: {outcome.said}")
    now = float(found[0].removeprefix("now "))
    mappers = _mappers(found)
    suspects = {int(line.split("/")[2]) for line in found if line.startswith("blocked /proc/")}
    segments = [*_posix(found, now), *_sysv(found, now)]
    return tuple(
        Segment(
            name=one.name,
            kind=one.kind,
            size_bytes=one.size_bytes,
            creator_pid=one.creator_pid,
            mappers=tuple(sorted(mappers.get(one.name, set()) | suspects)),
            age_s=one.age_s,
        )
        for one in sorted(segments, key=lambda one: one.name)
    )


def creator_of(name: str) -> int | None:
    """The pid that a file's name tells, None where it tells none."""
    matches = (maker.fullmatch(name) for maker in _MAKERS)
    return next((int(match[1]) for match in matches if match), None)


def _posix(found: list[str], now: float) -> Iterator[Segment]:
    for line in found:
        if line.startswith("file "):
            _, size, modified, path = line.split(" ", 3)
            path = path.replace(SEPARATOR, "\n")
            yield Segment(
                name=path,
                kind="posix",
                size_bytes=int(size),
                creator_pid=creator_of(path.rpartition("/")[2]),
                age_s=max(0.0, now - float(modified)),
            )


def _sysv(found: list[str], now: float) -> Iterator[Segment]:
    """Rows of /proc/sysvipc/shm, read by the names of their columns."""
    rows = [line.split()[1:] for line in found if line.startswith("sysv ")]
    for row in rows[1:]:
        fields = dict(zip(rows[0], row, strict=False))
        touched = max(int(fields[name]) for name in ("atime", "dtime", "ctime"))
        yield Segment(
            name=f"sysv:{fields['shmid']}",
            kind="sysv",
            size_bytes=int(fields["size"]),
            creator_pid=int(fields["cpid"]),
            age_s=max(0.0, now - touched),
        )


def _mappers(found: list[str]) -> dict[str, set[int]]:
    """Segment name -> pids that have it open or mapped. A SysV mapping shows the segment's id as its inode."""
    mappers: dict[str, set[int]] = {}
    for pid, _, path in proc_links(found):
        mappers.setdefault(path.replace(SEPARATOR, "\n"), set()).add(pid)
    for (pid, _, name), text in proc_files(found).items():
        for line in text.split("\n") if name == "maps" else ():
            columns = line.split(None, 5)
            if len(columns) == 6:
                segment = f"sysv:{columns[4]}" if columns[5].startswith("/SYSV") else _unescaped(columns[5])
                mappers.setdefault(segment, set()).add(pid)
    return mappers


def _unescaped(path: str) -> str:
    r"""The kernel writes a newline in a mapped file's name as \012."""
    return path.removesuffix(" (deleted)").replace("\\012", "\n")


FACT: Fact[tuple[Segment, ...]] = Fact(SEGMENTS, shell(SCRIPT, deadline_s=20.0, root=True), parse)
