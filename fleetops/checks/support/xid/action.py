"""What the catalogue asks for: a closed set of actions, how bad each makes an Xid, and who can do it."""

from enum import Enum

from fleetops.model.finding import Severity


class Action(Enum):
    """One of NVIDIA's resolution buckets; the value is what it asks for, in words.

    The workflows are no end in themselves: `catalogue.verdict` turns each into one of the others.
    """

    IGNORE = "nothing"
    RESTART_APP = "a restart of the application"
    RESET_GPU = "a reset of the GPU"
    RESTART_FM = "a restart of the Fabric Manager"
    RESTART_VM = "a restart of the virtual machine"
    RESTART_BM = "a restart of the machine that the GPU is plugged into"
    CHECK_MECHANICALS = "a look at its cables and connectors"
    UPDATE_SWFW = "an update of driver or firmware"
    CONTACT_SUPPORT = "NVIDIA's support"
    CHECK_APP = "a look at the application"
    CHECK_UVM = "a look at unified memory"
    INVESTIGATE_SW = "a look at driver and software"
    INVESTIGATE_SW_USER = "a look at driver and software, or at what a user did"
    INVESTIGATE_LINK_SI = "a look at the link's signals and cables"
    INVESTIGATE_PEER = "a look at the device at the other end of the link"
    INVESTIGATE_HOST = "a look at the host"
    REPORT_SOLO = "a report to NVIDIA where it comes alone"
    WORKFLOW_XID_13 = "a memory check of the application, then a field diagnosis"
    WORKFLOW_XID_31 = "a memory check of the application, then a field diagnosis of the GPU"
    WORKFLOW_XID_45 = "a look at the Xid that came before"
    WORKFLOW_XID_48 = "a look at the Xids that follow"
    WORKFLOW_NVLINK_ERR = "a look at the registers in the message"
    WORKFLOW_NVLINK5_ERR = "a look at unit and severity in the message"
    XID_154 = "what its text says"
    XID_137_FLOW = "a look at the peer's memory access"
    NOT_STATED = "nothing that the catalogue states"


FATAL = frozenset({Action.RESET_GPU, Action.RESTART_VM, Action.RESTART_BM, Action.CHECK_MECHANICALS})
"""The GPU does not work again before this was done."""

OF_THE_MOMENT = frozenset({Action.IGNORE, Action.RESTART_APP, Action.RESTART_FM})
"""Answered by what happens anyway after it: the application that it ended is started again."""


def severity(action: Action) -> Severity:
    """Of an Xid that asks for this first."""
    return Severity.CRITICAL if action in FATAL else Severity.WARNING
