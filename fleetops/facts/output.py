"""What parsers share: reading output strictly, and refusing what is cut, denied or of another form."""

import re
from collections.abc import Iterator

from fleetops.model.command import Outcome
from fleetops.model.fact import Absent, Unparsable

NOT_FOUND = 127
"""Exit status of a shell, of `env` and of `timeout` when the program does not exist."""

_ENDED_BY_SIGNAL = range(128 + 1, 128 + 65)
"""What a shell makes of a program's death."""

SEPARATOR = "\x1f"
"""What the scripts of this folder put in place of a NUL (between arguments) or of a newline inside a name."""

END = "end"
"""The last line of a script that reads many things: without it the reading was cut short."""

_PROC_LINE = re.compile(r"/proc/(\d+)/(?:task/(\d+)/)?(\w+):(.*)", re.DOTALL)
_PROC_LINK = re.compile(r"/proc/(\d+)/(?:task/(\d+)/)?fd/\d+ (.*)", re.DOTALL)


def lines(outcome: Outcome) -> list[str]:
    """Standard output as lines, broken at newlines only.

    Raises Unparsable for output that was cut: at the limit, within its last line, or by a signal that ended the reading.
    """
    found = _lines(outcome)
    if outcome.status is not None and outcome.status in _ENDED_BY_SIGNAL:
        raise Unparsable(f"the reading was ended by signal {outcome.status - 128}: what came is incomplete")
    if outcome.stdout and not outcome.stdout.endswith("\n"):
        raise Unparsable("the last line breaks off: what came is incomplete")
    return found


def _lines(outcome: Outcome) -> list[str]:
    if outcome.truncated:
        raise Unparsable("more output than is kept: what came is incomplete")
    return outcome.stdout.removesuffix("\n").split("\n") if outcome.stdout else []


def finished_lines(outcome: Outcome) -> list[str]:
    """The lines before `END`. Raises Unparsable where it is missing: the script did not get to its end."""
    found = _lines(outcome)
    if not found or found[-1] != END:
        said = outcome.stderr.strip().rpartition("\n")[2]
        raise Unparsable(
            f"the reading did not come to its end (status {outcome.status}){said and f': {said}'}"
        )
    return found[:-1]


def require_tool(outcome: Outcome, tool: str) -> None:
    """Raises Absent where the program does not exist on the host."""
    if outcome.status == NOT_FOUND:
        raise Absent(f"there is no {tool} on this host")


def require_ok(outcome: Outcome, tool: str) -> None:
    """Raises Absent where the program does not exist, Unparsable where it failed."""
    require_tool(outcome, tool)
    if not outcome.ok:
        raise Unparsable(f"{tool} ended with status {outcome.status}: {outcome.said}")


def require_not_denied(outcome: Outcome) -> None:
    """Raises Unparsable where a process could not be looked into: what is missing then must not read as `nobody`."""
    denied = [line for line in outcome.stderr.splitlines() if "ermission denied" in line]
    pids = sorted({int(pid) for line in denied for pid in re.findall(r"/proc/(\d+)/", line)})
    if pids:
        shown = ", ".join(map(str, pids[:5]))
        raise Unparsable(
            f"root is needed to look into {len(pids)} processes (pid {shown}{', ...' if pids[5:] else ''})"
        )


def proc_files(found: list[str]) -> dict[tuple[int, int | None, str], str]:
    """Output of `grep -H ''` over files of /proc: (pid, tid or None, file name) -> content.

    A content with several lines (a name may hold a newline) comes with one prefix per line.
    """
    contents: dict[tuple[int, int | None, str], list[str]] = {}
    for line in found:
        match = _PROC_LINE.fullmatch(line)
        if match:
            pid, tid, name, text = match.groups()
            contents.setdefault((int(pid), int(tid) if tid else None, name), []).append(text)
    return {key: "\n".join(texts) for key, texts in contents.items()}


def proc_links(found: list[str]) -> Iterator[tuple[int, int, str]]:
    """Lines of the `links` script: (pid, thread through which it was seen, what the descriptor points to)."""
    for line in found:
        match = _PROC_LINK.fullmatch(line)
        if match:
            pid, tid, target = match.groups()
            yield int(pid), int(tid or pid), target.removesuffix(" (deleted)")


def kib(text: str) -> int:
    """`123 kB`, as the kernel prints it, in bytes. Raises ValueError for another form."""
    number, unit = text.split()
    if unit != "kB":
        message = f"not in kB: {text}"
        raise ValueError(message)
    return int(number) * 1024
