"""The process table, with the threads of zombie leaders that still live.

The facts behind it (Linux proc(5); measured, see tests/facts): a leader that has exited while other threads go on is
shown as a zombie with no memory, no command line and no open files, while its threads hold all of it.
/proc/PID/stat and cgroup never block; a command line waits for the process's memory map.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from fleetops.facts.output import SEPARATOR, finished_lines, kib, proc_files
from fleetops.facts.scripts import PLAIN_TEXT, RETRIED, ZOMBIE_TASKS
from fleetops.model.command import Outcome, shell
from fleetops.model.fact import Fact, Unparsable
from fleetops.model.machine import PROCESSES, Process, Thread

_TABLE = (
    PLAIN_TEXT
    + ZOMBIE_TASKS
    + RETRIED
    + """\
echo "reader $$"
echo "page $(getconf PAGESIZE 2>/dev/null || echo 4096)"
printf '%s\\n' /proc/[0-9]*/stat /proc/[0-9]*/cgroup | xargs grep -saH ''
zombie_tasks | sed 's|$|/stat|' | xargs grep -saH ''
pattern=
retried /proc/[0-9]*/cmdline | tr '\\000' '\\037'
"""
)

_SHARES = """\
{ grep -sl '^VmRSS:' /proc/[0-9]*/status | sed 's|status$|smaps_rollup|'; zombie_tasks | sed 's|$|/smaps_rollup|'; } |
  xargs -n 1 -P 4 timeout -k 1 2 grep -saH '^Pss:'
"""

SCRIPT = _TABLE + "echo end\n"
SCRIPT_WITH_PSS = _TABLE + _SHARES + "echo end\n"


@dataclass(frozen=True)
class _Stat:
    """The fields of /proc/PID/stat that are used."""

    comm: str
    state: str
    ppid: int
    pgid: int
    sid: int
    threads: int
    start_ticks: int
    rss_pages: int


def parse(outcome: Outcome) -> tuple[Process, ...]:
    """All processes but the reading's own, by pid. One that vanished between two reads is left out.

    Raises Unparsable where the table is incomplete (the reader itself is not in it).
    """
    found = finished_lines(outcome)
    headers = dict(line.split(" ", 1) for line in found[:2] if " " in line)
    reader, page_bytes = int(headers["reader"]), int(headers["page"])
    files = _files(found)
    stats = {(pid, tid): _stat(text) for (pid, tid, name), text in files.items() if name == "stat"}
    leaders = {pid: stat for (pid, tid), stat in stats.items() if tid is None}
    if reader not in leaders:
        raise Unparsable("the process table is incomplete")
    shares = _shares(files)
    processes = (
        _process(pid, stat, files, page_bytes, _live_threads(pid, stats, page_bytes))
        for pid, stat in sorted(leaders.items())
    )
    own = _own(reader, leaders)
    return tuple(replace(one, pss_bytes=shares.get(one.pid)) for one in processes if one.pid not in own)


def _files(found: list[str]) -> dict[tuple[int, int | None, str], str]:
    """What was read, by pid, thread and file. After `retry` the command lines come a second time, each by itself."""
    if "retry" not in found:
        return proc_files(found)
    retry = found.index("retry")
    first = {key: text for key, text in proc_files(found[:retry]).items() if key[2] != "cmdline"}
    return first | proc_files(found[retry:])


def _process(
    pid: int,
    stat: _Stat,
    files: dict[tuple[int, int | None, str], str],
    page_bytes: int,
    threads: tuple[Thread, ...],
) -> Process:
    return Process(
        pid=pid,
        ppid=stat.ppid,
        pgid=stat.pgid,
        sid=stat.sid,
        state=stat.state,
        threads=stat.threads,
        comm=stat.comm,
        start_ticks=stat.start_ticks,
        cmdline=_argv(files.get((pid, None, "cmdline"), "")),
        cgroup=_cgroup(files.get((pid, None, "cgroup"), "")),
        rss_bytes=stat.rss_pages * page_bytes,
        live_threads=threads if stat.state == "Z" else (),
    )


def _stat(text: str) -> _Stat:
    """One stat line. The name may hold blanks, parentheses and newlines, so it ends at the last `)`."""
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    if "(" not in head or len(fields) < 22:
        raise Unparsable(f"not a stat line of /proc: {text[:60]!r}")
    return _Stat(
        comm=head.partition("(")[2],
        state=fields[0],
        ppid=int(fields[1]),
        pgid=int(fields[2]),
        sid=int(fields[3]),
        threads=int(fields[17]),
        start_ticks=int(fields[19]),
        rss_pages=int(fields[21]),
    )


def _live_threads(
    pid: int, stats: dict[tuple[int, int | None], _Stat], page_bytes: int
) -> tuple[Thread, ...]:
    own = ((tid, stat) for (owner, tid), stat in stats.items() if owner == pid and tid is not None)
    return tuple(
        Thread(tid=tid, state=stat.state, rss_bytes=stat.rss_pages * page_bytes)
        for tid, stat in sorted(own)
        if stat.state not in "ZX"
    )


def _argv(text: str) -> tuple[str, ...]:
    """A process that sets its title leaves the rest of its argument area empty: that is no argument."""
    text = text.rstrip(SEPARATOR)
    return tuple(text.split(SEPARATOR)) if text else ()


def _cgroup(text: str) -> str:
    """The path in the memory hierarchy (version 1) or in the unified one."""
    unified = ""
    for line in text.split("\n"):
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if "memory" in controllers.split(","):
            return path
        if number == "0" and not controllers:
            unified = path
    return unified


def _shares(files: dict[tuple[int, int | None, str], str]) -> dict[int, int]:
    """Pid -> PSS in bytes; of a zombie leader what its threads show, and they all show the same memory."""
    shares: dict[int, int] = {}
    for (pid, _, name), text in files.items():
        if name == "smaps_rollup":
            shares[pid] = max(shares.get(pid, 0), kib(text.removeprefix("Pss:")))
    return shares


def _own(reader: int, leaders: dict[int, _Stat]) -> set[int]:
    """The reading's own processes: the shell, what it started, and what started it within its session."""
    own = {reader}
    grown = True
    while grown:
        more = {pid for pid, stat in leaders.items() if stat.ppid in own} - own
        own |= more
        grown = bool(more)
    return own | set(_ancestors(reader, leaders))


def _ancestors(reader: int, leaders: dict[int, _Stat]) -> Iterable[int]:
    """What started the reading, within its session. A table in which parents go in a circle is a broken one, and ends too."""
    session, pid, seen = leaders[reader].sid, leaders[reader].ppid, {reader}
    while pid in leaders and leaders[pid].sid == session and pid > 1 and pid not in seen:
        yield pid
        seen.add(pid)
        pid = leaders[pid].ppid


FACT: Fact[tuple[Process, ...]] = Fact(PROCESSES, shell(SCRIPT, deadline_s=20.0), parse)
FACT_WITH_PSS: Fact[tuple[Process, ...]] = Fact(
    PROCESSES, shell(SCRIPT_WITH_PSS, deadline_s=40.0, root=True), parse
)
