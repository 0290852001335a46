"""From an Xid to what is to be done: the catalogue's row, and for its workflows the message and the other Xids."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from fleetops.checks.support.xid import nvlink5
from fleetops.checks.support.xid.action import Action
from fleetops.checks.support.xid.lines import OFF_THE_BUS, RECOVERY_ACTION, XidEvent
from fleetops.checks.support.xid.table import ROWS

NEAR_S = 60.0
"""Xids of one GPU that are no further apart are of one trouble."""

CONTAINED, UNCONTAINED = 94, 95

# nvmlDeviceGpuRecoveryAction: the number is what is stable, its words differ from driver to driver (`OS Reboot`, `PF FLR`).
_BY_NUMBER = {
    0: Action.IGNORE,
    1: Action.RESET_GPU,
    2: Action.RESTART_BM,
    3: Action.RESET_GPU,
    4: Action.RESET_GPU,
}
_CHANGED_TO = re.compile(r"recovery action changed from .* to 0x([0-9a-fA-F]+)")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One row of the catalogue."""

    number: int
    meaning: str
    immediate: Action
    investigatory: Action


@cache
def catalogue() -> dict[int, Entry]:
    """All rows by number. Raises KeyError for an action outside the set, ValueError for a number that stands twice."""
    entries: dict[int, Entry] = {}
    for row in ROWS.splitlines():
        number, immediate, investigatory, meaning = row.split(" ", 3)
        if int(number) in entries:
            raise ValueError(f"Xid {number} stands twice in the catalogue")
        entries[int(number)] = Entry(
            number=int(number),
            meaning=meaning,
            immediate=Action[immediate],
            investigatory=Action[investigatory],
        )
    return entries


def meaning(event: XidEvent) -> str:
    """In words; of a number that the catalogue does not have, that."""
    entry = catalogue().get(_number(event))
    return entry.meaning if entry else "not in the catalogue"


def verdict(event: XidEvent, others: Iterable[XidEvent]) -> tuple[Action, Action]:
    """What is to be done at once, and what then is to be looked at. `others`: what else stands, of any GPU.

    45: after another Xid it is that one's consequence (kernel_rc.c says which); alone it is the Fabric Manager's.
    48 and 74: clear only with a reset or a reboot (GPU Debug Guidelines), but for a 48 whose error was contained (94).
    """
    number = _number(event)
    entry = catalogue().get(number)
    if entry is None:
        return Action.NOT_STATED, Action.CONTACT_SUPPORT
    near = {one.number for one in others if _of_one_trouble(event, one)}
    match entry.immediate:
        case Action.WORKFLOW_XID_45:
            follows = event.cause is not None or bool(near - {number})
            return (Action.IGNORE, Action.IGNORE) if follows else (Action.RESTART_FM, Action.CHECK_APP)
        case Action.WORKFLOW_XID_48:
            contained = CONTAINED in near and UNCONTAINED not in near
            return (Action.RESTART_APP if contained else Action.RESET_GPU), Action.CONTACT_SUPPORT
        case Action.WORKFLOW_NVLINK_ERR:
            return Action.RESET_GPU, entry.investigatory
        case Action.WORKFLOW_NVLINK5_ERR:
            # Where the driver's verdict decides, the Xid 154 that comes with it tells it, and is judged for itself.
            first, then = nvlink5.actions(event.text)
            return (Action.IGNORE if first is Action.XID_154 else first), then
        case Action.XID_154:
            return _changed_to(event), Action.IGNORE
        case immediate:
            return immediate, entry.investigatory


def _changed_to(event: XidEvent) -> Action:
    match = _CHANGED_TO.search(event.text)
    return _BY_NUMBER.get(int(match[1], 16), Action.CONTACT_SUPPORT) if match else Action.CONTACT_SUPPORT


def _number(event: XidEvent) -> int:
    return OFF_THE_BUS if event.number is None else event.number


def _of_one_trouble(event: XidEvent, other: XidEvent) -> bool:
    apart_s = abs(other.at - event.at)
    return other is not event and other.bdf == event.bdf and apart_s <= NEAR_S


def answered(event: XidEvent, others: Iterable[XidEvent], live: str) -> bool:
    """Whether the driver itself no longer asks for what it asked after this Xid.

    `live`: the GPU's recovery action now (`None` where nothing is wanted, "" where the driver does not tell one).
    """
    if live != "None":
        return False
    asked = [one.at for one in others if one.bdf == event.bdf and one.number == RECOVERY_ACTION]
    return bool(asked) and event.at <= max(asked)
