"""Reading a server's log as a fold: a table of milestones and of failures, applied line by line."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum

from fleetops.model.engine import LogReport


class Telling(IntEnum):
    """How much a failure line says: a symptom, an exception's last line, or the cause itself."""

    NOTHING = 0
    SYMPTOM = 1
    EXCEPTION = 2
    CAUSE = 3


@dataclass(frozen=True)
class Milestone:
    """A line that shows progress: what it changes in the report. `change` gets the report and the match."""

    pattern: re.Pattern[str]
    change: Callable[[LogReport, re.Match[str]], LogReport]


@dataclass(frozen=True)
class Failure:
    """A line that shows a failure. `said` turns the match into the sentence to keep; by default the line itself."""

    pattern: re.Pattern[str]
    telling: Telling
    said: Callable[[re.Match[str]], str] | None = None


# The last line of a Python traceback stands at the margin, without the logger's prefix.
EXCEPTION_LINE = re.compile(r"^(?:[A-Za-z_][\w]*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit)\b(?:: .*)?$")


@dataclass(frozen=True, kw_only=True)
class LogForm:
    """How one engine's log reads.

    Attributes:
        start: the line with which a new start begins; what an older start left in the same file is forgotten.
        prefix: what the logger puts before a line that tells of a failure.
        exceptions_bear_prefix: tracebacks are logged line by line, so that an exception's line is not at the margin.
        failures: the most telling first.
    """

    start: re.Pattern[str]
    prefix: re.Pattern[str]
    exceptions_bear_prefix: bool = False
    milestones: tuple[Milestone, ...]
    failures: tuple[Failure, ...]

    def fold(self, report: LogReport, line: str) -> LogReport:
        """The report with one more line taken in."""
        text = _last_drawn(line)
        if self.start.search(text):
            return LogReport(progress="starting")
        for milestone in self.milestones:
            if found := milestone.pattern.search(text):
                try:
                    return milestone.change(report, found)
                except (ValueError, OverflowError):
                    continue  # what stands in the place of a number is none
        return self._with_failure(report, text)

    def _with_failure(self, report: LogReport, text: str) -> LogReport:
        telling, said = self.judge(text)
        if telling == Telling.EXCEPTION and report.ready and not report.failure:
            return report  # a request's own error, which a serving engine survives
        # Later symptoms follow from the first cause; only a line that tells more takes its place.
        return replace(report, failure=said, telling=telling) if telling > report.telling else report

    def judge(self, text: str) -> tuple[Telling, str]:
        """How telling this line is as a failure, and what to keep of it."""
        for failure in self.failures:
            if found := failure.pattern.search(text):
                return failure.telling, failure.said(found) if failure.said else self._bare(text)
        margin = self._bare(text) if self.exceptions_bear_prefix else text
        if EXCEPTION_LINE.match(margin):
            return Telling.EXCEPTION, margin.strip()
        return Telling.NOTHING, ""

    def _bare(self, text: str) -> str:
        return self.prefix.sub("", text, count=1).strip()


def _last_drawn(line: str) -> str:
    """A progress bar redraws itself with carriage returns; the last drawing counts."""
    drawn = [part for part in line.rstrip("\r\n").split("\r") if part.strip()]
    return drawn[-1] if drawn else ""


def whole(text: str) -> int:
    """A number that may be written with thousands commas."""
    return int(text.replace(",", ""))
