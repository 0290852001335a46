"""Which Xids of a kernel log are a node's and still stand, and how they are said."""

import json
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from fleetops.checks.support.kernel import kernel_facts
from fleetops.checks.support.saying import listed
from fleetops.checks.support.xid.action import FATAL, Action
from fleetops.checks.support.xid.catalogue import answered, meaning, verdict
from fleetops.checks.support.xid.lines import OFF_THE_BUS, RECOVERY_ACTION, XidEvent, xids_of
from fleetops.model.duration import show_duration
from fleetops.model.finding import Observation
from fleetops.model.gpu import GPUS, Gpus
from fleetops.model.kernel import KERNEL_LOG, KernelLog

_WORD = "gpu-xids"
_KEPT_TEXT = 160


Asked = Mapping[tuple[Action, Action], tuple[XidEvent, ...]]
"""(immediate, investigatory) action -> the Xids that ask for them."""


def standing(observation: Observation) -> Asked:
    """The node's Xids that still stand, by what they ask for; none where there is no kernel log."""
    log = kernel_facts(observation).value(KERNEL_LOG)
    if log is None:
        return {}
    events = _of_the_node(observation, xids_of(log, _remembered(observation, log)))
    told: dict[tuple[Action, Action], tuple[XidEvent, ...]] = {}
    for event in events:
        if not _told_elsewhere(observation, event) and not answered(event, events, _live(observation, event)):
            actions = verdict(event, events)
            told[actions] = (*told.get(actions, ()), event)
    return told


def words(observation: Observation) -> dict[str, str]:
    """What is to be remembered, since the kernel's own buffer forgets: the fatal ones, with the boot they are of."""
    log = kernel_facts(observation).value(KERNEL_LOG)
    if log is None:
        return {}
    fatal = [
        (one.at, one.bdf, one.number, one.text[:_KEPT_TEXT])
        for (immediate, _), events in standing(observation).items()
        for one in events
        if immediate in FATAL
    ]
    return {
        _WORD: json.dumps({"boot": log.boot_id, "xids": sorted(fatal, key=lambda one: one[0])})
        if fatal
        else ""
    }


def said(observation: Observation, events: Iterable[XidEvent]) -> str:
    """Each GPU's Xids with their meaning, how often and when last; and how far back the log tells."""
    groups = groupby(sorted(events, key=_kind), key=_kind)
    each = listed(_group_said(observation, list(group)) for _, group in groups)
    return "; ".join(filter(None, (each, _whose(observation), _reach(observation))))


def age_s(observation: Observation, event: XidEvent) -> float:
    """How long ago it was, by the host's clock against the controller's."""
    return max(0.0, kernel_facts(observation).at - event.at)


def _kind(event: XidEvent) -> tuple[str, str, int]:
    return event.bdf, event.mig, event.number or 0


def _group_said(observation: Observation, events: list[XidEvent]) -> str:
    last = max(events, key=lambda one: one.at)
    gpu = next((gpu for gpu in _gpus(observation).gpus if gpu.bdf == last.bdf), None)
    which = f"GPU {gpu.index} at {last.bdf}" if gpu else f"GPU at {last.bdf}"
    mig = f" {last.mig}" if last.mig else ""
    number = "no Xid" if last.number is None else f"Xid {last.number}"
    often = f", {len(events)} times, last" if len(events) > 1 else ""
    name = f" ({last.name})" if last.name else ""
    ago = show_duration(age_s(observation, last))
    detail = f": {last.text}" if last.number == RECOVERY_ACTION and last.text else ""
    return f"{which}{mig}: {number} ({meaning(last)}{detail}){often} {ago} ago{name}"


def _gpus(observation: Observation) -> Gpus:
    return observation.node_facts.value(GPUS) or Gpus(driver_version="", gpus=())


def _live(observation: Observation, event: XidEvent) -> str:
    return next((gpu.recovery_action for gpu in _gpus(observation).gpus if gpu.bdf == event.bdf), "")


def _told_elsewhere(observation: Observation, event: XidEvent) -> bool:
    """What `gpu-lost`, `gpu-wants-reset` and `gpu-wants-reboot` say of this moment needs no line of the past."""
    lost = {one.bdf for one in _gpus(observation).lost}
    if event.number in {None, OFF_THE_BUS} and event.bdf in lost:
        return True
    return event.number == RECOVERY_ACTION and bool(_live(observation, event))


def _of_the_node(observation: Observation, events: tuple[XidEvent, ...]) -> tuple[XidEvent, ...]:
    """A container's kernel log is its host's, and tells of other guests' GPUs as well.

    A GPU that has fallen off is in no list any more: it counts as the node's as long as the node lacks one.
    """
    guest, own = observation.node.guest, observation.node_facts.value(GPUS)
    if guest is None or guest.kind != "lxc" or own is None:
        return events
    mine = {gpu.bdf for gpu in own.gpus} | {one.bdf for one in own.lost}
    wanted = observation.node.gpus
    if wanted is not None and len(mine) >= wanted:
        return tuple(one for one in events if one.bdf in mine)
    beside = observation.hypervisor_facts
    on_host = (beside.value(GPUS) if beside else None) or Gpus(driver_version="", gpus=())
    others = {gpu.bdf for gpu in on_host.gpus} - mine
    return tuple(one for one in events if one.bdf not in others)


def _whose(observation: Observation) -> str:
    guest = observation.node.guest
    unknown = guest and guest.kind == "lxc" and observation.node_facts.value(GPUS) is None
    return f"which of {observation.node.hypervisor}'s GPUs are the node's is not known" if unknown else ""


def _reach(observation: Observation) -> str:
    """How far back the log tells, where that is not to the boot."""
    facts = kernel_facts(observation)
    log = facts.value(KERNEL_LOG)
    if log is None or log.is_whole:
        return ""
    if log.begins_at is None:
        return "how far back the kernel's log reaches is not known"
    return f"the kernel's log reaches back {show_duration(facts.at - log.begins_at)} only"


def _remembered(observation: Observation, log: KernelLog) -> list[XidEvent]:
    """What an earlier sweep has seen of this boot; another boot has ended it."""
    try:
        told: dict[str, Any] = json.loads(observation.past.words.get(_WORD, "") or "{}")
        xids = [
            XidEvent(at=float(at), bdf=bdf, number=number, text=text)
            for at, bdf, number, text in told.get("xids", ())
        ]
    except (ValueError, TypeError, AttributeError):
        # Of a form that only another release knows: the log itself is there to be read.
        return []
    return xids if log.boot_id and told.get("boot") == log.boot_id else []
