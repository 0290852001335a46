"""Judging a check of the operator's own."""

from fleetops.model.fact import Facts, Missing
from fleetops.model.finding import Finding, Severity
from fleetops.model.own_check import OwnCheck, OwnReading
from fleetops.model.past import Remembered
from fleetops.model.secrets import mask_text

_SEVERITIES = {"warning": Severity.WARNING, "critical": Severity.CRITICAL}


def judge_own(check: OwnCheck, facts: Facts) -> list[Finding]:
    """At most one finding; what could not be read is unknown."""
    told = facts.get(check.key)
    if isinstance(told, Missing):
        return [_found(check, facts, Severity.UNKNOWN, f"{check.name} not known", str(told))]
    subject = check.says or check.name
    if told.number is not None:
        for severity, line in ((Severity.CRITICAL, check.critical), (Severity.WARNING, check.warning)):
            if crossed := line.crossed(told.number):
                return [_found(check, facts, severity, subject, f"{told.number:g}, {crossed}")]
        return []
    if why := _wrong(check, told):
        return [_found(check, facts, _SEVERITIES[check.severity], subject, why)]
    return []


def remember_own(check: OwnCheck, facts: Facts) -> Remembered:
    """A number, for `history`."""
    told = facts.value(check.key)
    number = told.number if told else None
    return Remembered(numbers={} if number is None else {check.full_name: number})


def _wrong(check: OwnCheck, told: OwnReading) -> str:
    if not told.matched:
        return f"no match for {check.pattern} in: {mask_text(told.text)}"
    if told.status != 0:
        said = f": {mask_text(told.text)}" if told.text else ""
        return f"its command ended with status {told.status}{said}"
    return ""


def _found(check: OwnCheck, facts: Facts, severity: Severity, subject: str, evidence: str) -> Finding:
    following = check.next.replace("{host}", facts.host)
    return Finding(
        host=facts.host,
        check=check.full_name,
        severity=severity,
        subject=subject,
        evidence=evidence,
        next=following,
    )
