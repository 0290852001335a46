"""The lines of a kernel log that tell of GPUs in trouble, and of what has put an end to it.

Formats: `NVRM: Xid (PCI:0000:c1:00): 119, pid=..., name=..., TEXT`, without pid and name, with ` GPU-I:05` behind the
address on a GPU in MIG mode, ` caused by previous Xid N` at the end (open-gpu-kernel-modules, kernel_rc.c), `(0000:03:00)`
on old drivers. A GPU falls off the bus in one line or in three without any Xid (osapi.c; NVSentinel#155). NVSwitches:
`nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 TEXT`, followed by lines of more detail.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fleetops.model.kernel import KernelLine, KernelLog

_XID = re.compile(
    r"NVRM: Xid \((?:PCI:)?([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2})(?:\.[0-7])?(?: ([^)]+))?\): (\d+)"
    r"(?:, pid='?(<unknown>|\d+)'?)?(?:, name=([^,]*))?(?:, (.*))?$",
    re.IGNORECASE,
)
_CAUSED = re.compile(r"\s*caused by previous Xid (\d+)\s*$")
_BDF = r"([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])"
_OFF_THE_BUS = re.compile(rf"NVRM: GPU {_BDF}: GPU has fallen off the bus", re.IGNORECASE)
_OFF_FIRST = re.compile(rf"NVRM: The NVIDIA GPU {_BDF}\s*$", re.IGNORECASE)
_OFF_LAST = "NVRM: fallen off the bus and is not responding"
_SXID = re.compile(
    r"(nvidia-nvswitch\d+): SXid \(PCI:([0-9a-f:.]+)\): (\d+), (Non-fatal|Fatal), (.*)$", re.IGNORECASE
)
_LOADED = re.compile(r"NVRM: loading NVIDIA UNIX")
_RESET = re.compile(rf"(?:nvidia|vfio-pci) {_BDF}: reset done", re.IGNORECASE)
_NOTHING_WANTED = re.compile(r"recovery action changed from .* to 0x0\b")
RECOVERY_ACTION = 154
OFF_THE_BUS = 79
_OFF_LINES = 3


@dataclass(frozen=True, kw_only=True)
class XidEvent:
    """One Xid.

    Attributes:
        at: seconds since the epoch by the host's clock.
        bdf: as a GPU's (`0000:9b:00.0`); the line has no function digit, GPUs are function 0.
        number: None for a GPU that fell off the bus without a number being told.
        mig: the GPU instance (`GPU-I:05`), "" for the whole GPU.
        pid: as the kernel counts, so of a container not the container's own.
        cause: the earlier Xid that the driver blames; None where it blames none.
    """

    at: float
    bdf: str
    number: int | None
    text: str = ""
    mig: str = ""
    pid: int | None = None
    name: str = ""
    cause: int | None = None


@dataclass(frozen=True, kw_only=True)
class SxidEvent:
    """One SXid: an error of an NVSwitch."""

    at: float
    bdf: str
    switch: str
    number: int
    fatal: bool
    text: str


def xids_of(log: KernelLog, before: Iterable[XidEvent] = ()) -> tuple[XidEvent, ...]:
    """Those since the last boot, load of the driver, or reset of their GPU, oldest first.

    An Xid 154 that asks for nothing any more ends what came before it on its GPU as well. `before`: such that an earlier
    look has seen and that the log may have lost since.
    """
    told = {(one.at, one.bdf, one.number) for one in _events(log)}
    standing = [one for one in before if (one.at, one.bdf, one.number) not in told]
    for event in _happenings(log):
        if isinstance(event, XidEvent) and not _ends(event):
            standing.append(event)
        else:
            bdf = event.bdf if isinstance(event, XidEvent) else event
            standing = [one for one in standing if bdf and one.bdf != bdf]
    return tuple(_once(standing))


def sxids_of(log: KernelLog) -> tuple[SxidEvent, ...]:
    """Those since the last boot or load of the driver, oldest first; the lines of detail that follow one are left out."""
    found: list[SxidEvent] = []
    for line in log.lines:
        if _LOADED.search(line.text):
            found.clear()
        elif match := _SXID.search(line.text):
            switch, bdf, number, severity, text = match.groups()
            fatal = severity.lower() == "fatal"
            found.append(
                SxidEvent(
                    at=line.at, bdf=bdf.lower(), switch=switch, number=int(number), fatal=fatal, text=text
                )
            )
    return tuple(found)


def _events(log: KernelLog) -> Iterator[XidEvent]:
    return (one for one in _happenings(log) if isinstance(one, XidEvent))


def _happenings(log: KernelLog) -> Iterator[XidEvent | str]:
    """Each Xid; between them the address of a GPU that was reset, or "" where the whole driver began anew."""
    for place, line in enumerate(log.lines):
        if _LOADED.search(line.text):
            yield ""
        elif match := _RESET.search(line.text):
            yield _short(match[1])
        elif event := _xid(line) or _fallen(log.lines[place : place + _OFF_LINES]):
            yield event


def _xid(line: KernelLine) -> XidEvent | None:
    match = _XID.search(line.text)
    if match is None:
        return None
    address, mig, number, pid, name, text = (group or "" for group in match.groups())
    caused = _CAUSED.search(text)
    return XidEvent(
        at=line.at,
        bdf=_short(address),
        number=int(number),
        text=_CAUSED.sub("", text),
        mig=mig,
        pid=int(pid) if pid.isdecimal() else None,
        name="" if "<unknown>" in name else name,
        cause=int(caused[1]) if caused else None,
    )


def _fallen(lines: tuple[KernelLine, ...]) -> XidEvent | None:
    """A GPU that fell off the bus, told in the first of these lines or in the three of them."""
    text = lines[0].text
    match = _OFF_THE_BUS.search(text)
    if match is None and any(_OFF_LAST in line.text for line in lines[1:]):
        match = _OFF_FIRST.search(text)
    return (
        XidEvent(at=lines[0].at, bdf=_short(match[1]), number=None, text="fallen off the bus")
        if match
        else None
    )


def _ends(event: XidEvent) -> bool:
    return event.number == RECOVERY_ACTION and bool(_NOTHING_WANTED.search(event.text))


def _once(events: list[XidEvent]) -> Iterator[XidEvent]:
    """A fall off the bus is told by an Xid 79 and by a line without number: where both are there, the first counts."""
    numbered = {one.bdf for one in events if one.number == OFF_THE_BUS}
    return (one for one in events if one.number is not None or one.bdf not in numbered)


def _short(address: str) -> str:
    """An address with or without its function digit, as a GPU's: lower case, a domain of four digits."""
    domain, _, rest = address.lower().partition(":")
    return f"{int(domain, 16):04x}:{rest if '.' in rest else rest + '.0'}"
