"""What a kernel has written in its log."""

from dataclasses import dataclass

from fleetops.model.fact import Key


@dataclass(frozen=True, kw_only=True)
class KernelLine:
    """One line of the log. `at`: seconds since the epoch by that host's own clock."""

    at: float
    text: str


@dataclass(frozen=True, kw_only=True)
class KernelLog:
    """The lines of this boot that a check may care for, oldest first.

    Attributes:
        source: `journal` (kept whole since the boot) or `ring` (the kernel's own buffer, which wraps).
        begins_at: of what the log still has, the time of the first line; before it nothing is known.
        boot_id: of the boot that it is of.
        cut: more such lines were there than are kept; the newest are.
    """

    source: str
    lines: tuple[KernelLine, ...] = ()
    begins_at: float | None = None
    boot_id: str = ""
    cut: bool = False


KERNEL_LOG: Key[KernelLog] = Key("kernel-log")
