"""Xids that leave the GPU at work: of an application that the driver has ended, or for somebody to look into."""

from dataclasses import replace

from fleetops.checks.support.kernel import kernel_facts
from fleetops.checks.support.saying import found
from fleetops.checks.support.xid.action import FATAL, OF_THE_MOMENT, Action
from fleetops.checks.support.xid.lines import XidEvent
from fleetops.checks.support.xid.standing import age_s, said, standing
from fleetops.model.finding import Check, Finding, Observation, Severity

_NAME = "gpu-xid-minor"
_NOTHING = (Action.IGNORE, Action.NOT_STATED)
_RECENT = "gpu-xid-recent-s"
_SUBJECTS = {
    Action.RESTART_APP: "Xid of an application",
    Action.RESTART_FM: "Xid of the fabric",
    Action.IGNORE: "Xid noted",
}
_OTHERS = "Xid to look at"


def judge(observation: Observation) -> list[Finding]:
    """A warning for each kind. What a restart of the application answers is told while it is recent.

    A kernel log that could not be read is told by `gpu-xid`.
    """
    kinds: dict[str, list[tuple[XidEvent, tuple[Action, Action]]]] = {}
    for (immediate, then), events in standing(observation).items():
        if immediate in FATAL or immediate is then is Action.IGNORE:
            continue
        fresh = [one for one in events if _counts(observation, immediate, one)]
        if fresh:
            kind = kinds.setdefault(_SUBJECTS.get(immediate, _OTHERS), [])
            kind += [(one, (immediate, then)) for one in fresh]
    return [_finding(observation, subject, told) for subject, told in kinds.items()]


def _counts(observation: Observation, immediate: Action, event: XidEvent) -> bool:
    return immediate not in OF_THE_MOMENT or age_s(observation, event) <= observation.thresholds[_RECENT]


def _finding(
    observation: Observation, subject: str, told: list[tuple[XidEvent, tuple[Action, Action]]]
) -> Finding:
    asked = dict.fromkeys(action.value for _, actions in told for action in actions if action not in _NOTHING)
    events = said(observation, [event for event, _ in told])
    evidence = f"{events}; NVIDIA's catalogue asks for {', then '.join(asked) or Action.NOT_STATED.value}"
    finding = found(_NAME, observation, Severity.WARNING, subject, evidence, command="probe")
    host = kernel_facts(observation).host
    if subject == _SUBJECTS[Action.RESTART_FM]:
        return replace(finding, next=f"fleetops run {host} -- systemctl status nvidia-fabricmanager")
    if subject == _OTHERS:
        return replace(finding, next=f"fleetops run {host} -- nvidia-bug-report.sh")
    return finding


CHECK = Check(name=_NAME, title="no Xid is to be looked into", judge=judge, sweeps_only=True)
