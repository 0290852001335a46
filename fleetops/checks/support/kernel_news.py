"""What a kernel has logged since the last sweep, by its own clock, and whether some of that may be lost."""

from dataclasses import dataclass

from fleetops.checks.support.machine import Machine, told
from fleetops.model.duration import show_duration
from fleetops.model.fact import Facts
from fleetops.model.finding import Finding, Severity
from fleetops.model.kernel import CLOCK_DRIFT, KERNEL_LOG, KernelLine, KernelLog
from fleetops.model.machine import CLOCK
from fleetops.model.past import Past, Remembered

_READ_AT = "kernel-log-read-at"

# A sweep reads a host within seconds.
_SLACK_S = 10.0


@dataclass(frozen=True, kw_only=True)
class News:
    """Lines of the log that the last sweep has not seen.

    Attributes:
        lines: oldest first; every line of the log is in `all_lines`.
        now: the time at which it was read, by that host's clock.
        since: from when on lines count, in words.
        lost: why lines since then may be missing, "" where they cannot be.
    """

    lines: tuple[KernelLine, ...]
    all_lines: tuple[KernelLine, ...]
    now: float
    since: str
    lost: str = ""

    def ago(self, line: KernelLine) -> str:
        """`3 min ago`."""
        return f"{show_duration(self.now - line.at)} ago"


def news(machine: Machine, facts: Facts) -> News | None:
    """None where the log was not read. `facts` are of the host whose kernel it is; times count by its own clock.

    New is what came since the log was last read, which may be longer ago than the last sweep: a host that is out of
    memory does not answer for a while. On first sight what the last hours have brought counts as new.
    """
    log, clock = facts.value(KERNEL_LOG), facts.value(CLOCK)
    if log is None:
        return None
    now = clock.epoch_s if clock else facts.at
    seen_at = _seen_at(machine.past)
    if seen_at is None:
        age_s = machine.thresholds["kernel-log-first-look-s"]
        since = f"in the last {show_duration(age_s)}"
    else:
        age_s = max(0.0, facts.at - seen_at)
        since = f"since the last look {show_duration(age_s)} ago"
    start = now - age_s - _SLACK_S - (_drift_s(log, now) if log.source == "ring" else 0.0)
    return News(
        lines=tuple(line for line in log.lines if line.at >= start),
        all_lines=log.lines,
        now=now,
        since=since,
        lost=_lost(log, start, now, seen_before=seen_at is not None),
    )


def _seen_at(past: Past) -> float | None:
    """When the log was last read; None where this host was never swept."""
    told = past.words.get(_READ_AT, "")
    return float(told) if told else past.swept_at


def log_read(facts: Facts) -> Remembered:
    """That the log was read now; nothing where it was not, so that the next look goes back further."""
    if facts.value(KERNEL_LOG) is None:
        return Remembered()
    return Remembered(words={_READ_AT: f"{facts.at:.3f}"})


def _drift_s(log: KernelLog, now: float) -> float:
    return 0.0 if log.booted_at is None else max(0.0, now - log.booted_at) * CLOCK_DRIFT


def _lost(log: KernelLog, start: float, now: float, *, seen_before: bool) -> str:
    if log.begins_at is None:
        return "it is empty: somebody has cleared it"
    if seen_before and not log.is_whole and log.begins_at > start:
        how = "is cut, what is kept of it" if log.cut else "has wrapped, what it has"
        return f"it {how} begins {show_duration(now - log.begins_at)} ago"
    return ""


def lost_lines(check: str, machine: Machine, facts: Facts, what: News) -> list[Finding]:
    """An unknown where lines may be missing: that none was seen says nothing then."""
    if not what.lost:
        return []
    where = "" if facts.host == machine.name else f" on {facts.host}"
    evidence = f"kernel log{where}: {what.lost}"
    finding = told(check, machine, Severity.UNKNOWN, "kernel log incomplete", evidence)
    return [finding]
