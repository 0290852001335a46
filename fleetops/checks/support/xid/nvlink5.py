"""Xids 144 to 150: NVLink of Blackwell and newer, judged by the unit, the severity and the registers in the message.

`149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000 ...)`: unit, severity, link, then intrinfo, whose bits
20 to 25 are the sub-code, and the error status (NVIDIA's Xid catalogue, table NVLink5). In that table what is fatal asks
for a reset and what is not fatal for nothing; the exceptions are spelled out here.
"""

import re
from dataclasses import dataclass

from fleetops.checks.support.xid.action import Action

NUMBERS = range(144, 151)

_MESSAGE = re.compile(
    r"([A-Z][A-Z0-9_]*)\s+(Fatal|Nonfatal)\s+XC\d+\s+i\d+\s+Link\s+(-?\d+)\s+\(0x([0-9a-fA-F]+)(?:\s+0x([0-9a-fA-F]+))?"
)
_LINK_DOWN = frozenset({"NETIR_LINK_EVT", "NETIR_LINK_DOWN"})
# Links that software or the host took down on purpose.
_TAKEN_DOWN = {0b100110: Action.INVESTIGATE_SW_USER, 0b101000: Action.INVESTIGATE_HOST}
_LOOK_AT = {
    **dict.fromkeys((0b000010, 0b000100, 0b001010, 0b101010, 0b101011), Action.INVESTIGATE_LINK_SI),
    **dict.fromkeys((0b001111, 0b010000, 0b010001, 0b010010, 0b010110), Action.INVESTIGATE_SW_USER),
    **dict.fromkeys((0b010101, *range(0b100000, 0b100110)), Action.INVESTIGATE_PEER),
}
_TIMED_OUT = frozenset({4, 8})


@dataclass(frozen=True, kw_only=True)
class LinkEvent:
    """What such a message says. `link` is -1 where it is of the whole unit."""

    unit: str
    fatal: bool
    link: int
    sub_code: int
    status: int


def link_event(text: str) -> LinkEvent | None:
    """The message taken apart; None for one of another form."""
    match = _MESSAGE.search(text)
    if match is None:
        return None
    unit, severity, link, intrinfo, status = match.groups()
    return LinkEvent(
        unit=unit,
        fatal=severity == "Fatal",
        link=int(link),
        sub_code=int(intrinfo, 16) >> 20 & 0x3F,
        status=int(status or "0", 16),
    )


def actions(text: str) -> tuple[Action, Action]:
    """The immediate and the investigatory action. A message that is not understood is for NVIDIA's support."""
    event = link_event(text)
    if event is None:
        return Action.CONTACT_SUPPORT, Action.CONTACT_SUPPORT
    if event.unit in _LINK_DOWN:
        return _of_link_down(event)
    if event.unit == "NETIR_BER_EVENT" and not event.fatal:
        return Action.IGNORE, Action.INVESTIGATE_LINK_SI
    if event.unit == "RLW_SRC_TRACK" and not event.fatal and event.status in _TIMED_OUT:
        return Action.XID_154, Action.IGNORE
    return (Action.RESET_GPU if event.fatal else Action.IGNORE), Action.CONTACT_SUPPORT


def _of_link_down(event: LinkEvent) -> tuple[Action, Action]:
    if event.sub_code in _TAKEN_DOWN:
        return Action.IGNORE, _TAKEN_DOWN[event.sub_code]
    first = Action.RESET_GPU if event.fatal else Action.IGNORE
    return first, _LOOK_AT.get(event.sub_code, Action.REPORT_SOLO)
