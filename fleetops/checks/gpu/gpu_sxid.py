"""SXids: errors of the NVSwitches between the GPUs, told in the kernel log of whoever has the switches."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby

from fleetops.checks.support.kernel import kernel_facts
from fleetops.checks.support.saying import found, listed
from fleetops.checks.support.xid.lines import SxidEvent, sxids_of
from fleetops.model.duration import show_duration
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.kernel import KERNEL_LOG

_NAME = "gpu-sxid"
_RECENT = "gpu-xid-recent-s"


def judge(observation: Observation) -> list[Finding]:
    """A fatal one is critical until the driver is loaded again; one that is not is told while it is recent.

    The line itself says which it is (Fabric Manager User Guide, appendix D). A kernel log that could not be read is told
    by `gpu-xid`.
    """
    facts = kernel_facts(observation)
    log = facts.value(KERNEL_LOG)
    events = sxids_of(log) if log else ()
    fatal = [one for one in events if one.fatal]
    recent_s = observation.thresholds[_RECENT] if events else 0.0
    others = [one for one in events if not one.fatal and facts.at - one.at <= recent_s]
    findings = []
    if fatal:
        evidence = f"{_said(fatal, facts.at)}; its links stay down until the GPUs and the switches are reset"
        findings.append(
            found(
                _NAME,
                observation,
                Severity.CRITICAL,
                "fatal NVSwitch error",
                evidence,
                command="recover --dry-run",
            )
        )
    if others:
        told = found(_NAME, observation, Severity.WARNING, "NVSwitch error", _said(others, facts.at))
        findings.append(
            replace(told, next=f"fleetops run {facts.host} -- systemctl status nvidia-fabricmanager")
        )
    return findings


def _said(events: Iterable[SxidEvent], now: float) -> str:
    groups = [list(group) for _, group in groupby(sorted(events, key=_kind), key=_kind)]
    return listed(_group_said(group, now) for group in groups)


def _kind(event: SxidEvent) -> tuple[str, int]:
    return event.switch, event.number


def _group_said(events: list[SxidEvent], now: float) -> str:
    last = max(events, key=lambda one: one.at)
    often = f", {len(events)} times, last" if len(events) > 1 else ""
    ago = show_duration(now - last.at)
    return f"{last.switch} at {last.bdf}: SXid {last.number} ({last.text}){often} {ago} ago"


CHECK = Check(name=_NAME, title="no NVSwitch reports an error", judge=judge, sweeps_only=True, latched=True)
