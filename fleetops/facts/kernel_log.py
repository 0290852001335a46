"""What a host's kernel has written since its boot, as far as a check may care for it.

The journal has it whole where it keeps the kernel's messages; beside it, and for what came after its last line, the
kernel's own buffer is read, which wraps, and which a container is mostly denied. Its times are seconds since the boot: they are dated by the kernel's uptime at this moment,
which the reading shell's own start time tells (in a container /proc/uptime is the container's), not by `dmesg -T`. Both
drift against a clock that is kept in step, by up to a minute in a week.

Messages of other programs come with another identifier than `kernel:` in the journal and with another facility than 0
in the buffer: they are not the kernel's word. Forms: samples named in tests/facts/kernel_log, facts/recovery.md B and D.
"""

import re
from dataclasses import replace

from fleetops.facts.output import finished_lines
from fleetops.facts.scripts import PLAIN_TEXT
from fleetops.model.command import Outcome, shell
from fleetops.model.fact import Absent, Fact, Unparsable
from fleetops.model.kernel import CLOCK_DRIFT, KERNEL_LOG, KernelLine, KernelLog
from fleetops.model.machine import TICKS_PER_S

KEPT = 300
"""Of what tells of one event in one line."""
KEPT_CHATTER = 200
"""Of what comes in bursts: corrected bus errors, disk errors, the driver's further words."""

_WANTED = "|".join(  # noqa: FLY002 - one family a line
    (
        "NVRM: |nvidia-nvswitch|SXid|fallen off the bus",
        "oom-kill|[Oo]ut of memory|Kill(ed)? process|memory.oom.group|killed as a result of limit",
        "blocked for more than|[Hh]ung task|hung_task: |soft lockup",
        "vfio|after FLR|after bus reset|: reset done|D3cold|pcieport|AER: ",
        "I.O error|EXT4-fs error|XFS .*[Ss]hut|[Rr]emounting filesystem read-only",
    )
)
_CHATTER = "pcieport|AER: |I.O error|EXT4-fs error|NVRM: [^X]"

SCRIPT = (
    PLAIN_TEXT
    + f"""\
if [ -r /proc/sys/kernel/random/boot_id ] && read -r boot < /proc/sys/kernel/random/boot_id; then echo "boot $boot"; fi
date '+now %s'
{{ read -r stat < /proc/self/stat; }} 2> /dev/null && set -f && set -- ${{stat##*) }} && echo "ticks ${{20}}"
keep() {{
  awk -v source="$1" '
    /^status [0-9]+$/ {{ status = $2; next }}
    !/^[0-9<]/ {{ next }}
    {{ last = $0 }}
    first == "" {{ first = $0 }}
    $0 !~ /{_WANTED}/ || /NVRM:  / {{ next }}
    /{_CHATTER}/ {{ chatter[chatted++ % {KEPT_CHATTER}] = "line " NR " " substr($0, 1, 1000); next }}
    {{ kept[count++ % {KEPT}] = "line " NR " " substr($0, 1, 1000) }}
    END {{
      if (source == "journal" && (status || first == "")) exit
      print "source " source
      if (status) {{ print "refused " status; exit }}
      if (first != "") {{ print "first " first; print "last " last }}
      for (at in kept) print kept[at]
      for (at in chatter) print chatter[at]
      if (count > {KEPT} || chatted > {KEPT_CHATTER}) print "cut"
    }}'
}}
if command -v journalctl > /dev/null; then
  {{
    timeout -k 1 6 journalctl -k -b -o short-unix --no-pager -q 2> /dev/null < /dev/null
    echo "status $?"
  }} | keep journal
fi
{{ dmesg -r; echo "status $?"; }} | keep ring
echo end
"""
)
"""In awk a slash would end a pattern, hence `I.O error`; the tables that follow a GSP timeout (`NVRM:  `) are left out."""

_JOURNAL = re.compile(r"([0-9]+\.[0-9]+) \S+ kernel: (.*)", re.DOTALL)
_OTHERS = re.compile(r"([0-9]+\.[0-9]+) \S+ .*", re.DOTALL)
_RING = re.compile(r"<([0-9]+)>\[ *([0-9]+\.[0-9]+)\](?:\[ *[TC][0-9]+\])? ?(.*)", re.DOTALL)
_KERNEL_FACILITY = range(8)
# Year 5138: what is beyond is no time.
_LAST_TIME = 1e11
# How far the journal may be behind the kernel.
_LAG_S = 30.0


def parse(outcome: Outcome) -> KernelLog:
    """Oldest first. Raises Absent where the host has no log, Unparsable where it may not be read or has no times."""
    found = finished_lines(outcome)
    told = dict(line.split(" ", 1) for line in found if line.startswith(("boot ", "now ", "ticks ")))
    booted_at = (
        int(told["now"]) - int(told["ticks"]) / TICKS_PER_S if {"now", "ticks"} <= told.keys() else None
    )
    sections = {
        source: _section(found, source) for source in ("journal", "ring") if f"source {source}" in found
    }
    boot_id = told.get("boot", "")
    if "journal" in sections:
        log, last = _read(sections["journal"], "journal", booted_at, boot_id)
        return _carried_on(log, last, _buffer(sections.get("ring", []), booted_at, boot_id))
    if "ring" not in sections:
        raise Unparsable(f"the kernel's log was not read: {outcome.said}")
    for line in sections["ring"]:
        if line.startswith("refused "):
            _refuse(line.removeprefix("refused "), outcome)
    return _read(sections["ring"], "ring", booted_at, boot_id)[0]


def _section(found: list[str], source: str) -> list[str]:
    """The lines from `source ...` to the next one."""
    start = found.index(f"source {source}") + 1
    stop = next((at for at in range(start, len(found)) if found[at].startswith("source ")), len(found))
    return found[start:stop]


def _read(
    section: list[str], source: str, booted_at: float | None, boot_id: str
) -> tuple[KernelLog, KernelLine | None]:
    """The log, and its very last line whatever that says."""

    def dated(raw: str) -> KernelLine:
        return _of_journal(raw) if source == "journal" else _of_ring(raw, booted_at)

    ends = dict(line.split(" ", 1) for line in section if line.startswith(("first ", "last ")))
    first, last = (dated(ends[name]) if name in ends else None for name in ("first", "last"))
    numbered = [line.split(" ", 2) for line in section if line.startswith("line ")]
    lines = (dated(raw) for _, _, raw in sorted(numbered, key=lambda words: int(words[1])))
    log = KernelLog(
        source=source,
        lines=tuple(line for line in lines if line.text),
        begins_at=first.at if first else None,
        booted_at=booted_at,
        boot_id=boot_id,
        cut="cut" in section,
    )
    return log, last


def _buffer(section: list[str], booted_at: float | None, boot_id: str) -> tuple[KernelLine, ...]:
    """What the kernel's buffer has, as far as it may be read; beside a journal it need not."""
    try:
        return _read(section, "ring", booted_at, boot_id)[0].lines
    except Unparsable:
        return ()


def _carried_on(log: KernelLog, last: KernelLine | None, buffer: tuple[KernelLine, ...]) -> KernelLog:
    """The journal, and what the kernel has said since the journal's last line: its daemon may be dead, or its disk full."""
    if last is None or log.booted_at is None:
        return log
    from_then_on = last.at + _LAG_S + max(0.0, last.at - log.booted_at) * CLOCK_DRIFT
    return replace(log, lines=(*log.lines, *(line for line in buffer if line.at > from_then_on)))


def _refuse(status: str, outcome: Outcome) -> None:
    said = outcome.stderr.strip().rpartition("\n")[2]
    if status == "127":
        raise Absent("neither a journal of the kernel nor dmesg is on this host")
    raise Unparsable(f"the kernel's log may not be read here (status {status}): {said or 'no reason given'}")


def _of_journal(raw: str) -> KernelLine:
    """The text is empty where another program than the kernel wrote it."""
    if match := _JOURNAL.fullmatch(raw):
        return _line(float(match[1]), match[2])
    if match := _OTHERS.fullmatch(raw):
        return _line(float(match[1]), "")
    raise Unparsable(f"not a line of the journal: {raw[:80]!r}")


def _of_ring(raw: str, booted_at: float | None) -> KernelLine:
    match = _RING.fullmatch(raw)
    if match is None:
        raise Unparsable(f"a line of the kernel's log has no time: {raw[:80]!r}")
    if booted_at is None:
        raise Unparsable("when the kernel has started is not told, so its log cannot be dated")
    return _line(booted_at + float(match[2]), match[3] if int(match[1]) in _KERNEL_FACILITY else "")


def _line(at: float, text: str) -> KernelLine:
    if not 0 <= at < _LAST_TIME:
        raise Unparsable(f"not a time: {at:g}")
    return KernelLine(at=round(at, 3), text=text)


FACT: Fact[KernelLog] = Fact(KERNEL_LOG, shell(SCRIPT, root=True), parse)
