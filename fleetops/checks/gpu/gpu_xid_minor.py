"""Xids that leave the GPU at work: of an application that the driver has ended, or for somebody to look into."""

from dataclasses import replace

from fleetops.checks.support.kernel import kernel_facts
from fleetops.checks.support.saying import found
from fleetops.checks.support.xid.action import FATAL, OF_THE_MOMENT, Action
from fleetops.checks.support.xid.lines import XidEvent
from fleetops.checks.support.xid.standing import age_s, said, standing
from fleetops.model.finding import Check, Finding, Observation, Severity

_NAME = "gpu-xid-minor"
_NOTHING = (Action.IGNORE, Action.IGNORE)
_RECENT = "gpu-xid-recent-s"


def judge(observation: Observation) -> list[Finding]:
    """A warning for each pair of actions. What a restart of the application answers is told while it is recent.

    A kernel log that could not be read is told by `gpu-xid`.
    """
    findings = []
    for (immediate, then), events in standing(observation).items():
        if immediate in FATAL or (immediate, then) == _NOTHING:
            continue
        fresh = tuple(one for one in events if _counts(observation, immediate, one))
        if fresh:
            findings.append(_finding(observation, immediate, then, fresh))
    return findings


def _counts(observation: Observation, immediate: Action, event: XidEvent) -> bool:
    return immediate not in OF_THE_MOMENT or age_s(observation, event) <= observation.thresholds[_RECENT]


def _finding(
    observation: Observation, immediate: Action, then: Action, events: tuple[XidEvent, ...]
) -> Finding:
    asked = [action.value for action in (immediate, then) if action not in {Action.IGNORE, Action.NOT_STATED}]
    evidence = (
        f"{said(observation, events)}; NVIDIA's catalogue asks for {', then '.join(asked) or 'nothing yet'}"
    )
    subject = "Xid of an application" if immediate is Action.RESTART_APP else "Xid to look at"
    host = kernel_facts(observation).host
    told = found(_NAME, observation, Severity.WARNING, subject, evidence, command="probe")
    if immediate is Action.RESTART_FM:
        return replace(told, next=f"fleetops run {host} -- systemctl status nvidia-fabricmanager")
    if immediate in {Action.RESTART_APP, Action.IGNORE}:
        return told
    return replace(told, next=f"fleetops run {host} -- nvidia-bug-report.sh")


CHECK = Check(name=_NAME, title="no Xid is to be looked into", judge=judge, sweeps_only=True)
