"""What a kernel has written in its log."""

from dataclasses import dataclass

from fleetops.model.fact import Key

CLOCK_DRIFT = 1e-4
"""The clock by which a kernel dates its buffer is not kept in step: quartz is off by up to 100 in a million."""

# Until the journal's own start a kernel's first lines wait, and are dated then.
_FIRST_LINES_S = 300.0


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
        begins_at: of what the log still has, and what of it is kept, the time of the first line; before it nothing is
            known. None where it has none.
        booted_at: when this kernel started, by that host's own clock; None where that is not told.
        boot_id: of the boot that it is of.
        cut: more such lines were there than are kept; the newest are. Of what comes in bursts (bus and disk errors) a
            share of its own is kept, and not said to be cut.
    """

    source: str
    lines: tuple[KernelLine, ...] = ()
    begins_at: float | None = None
    booted_at: float | None = None
    boot_id: str = ""
    cut: bool = False

    @property
    def is_whole(self) -> bool:
        """All lines since the kernel's start are there."""
        if self.cut or self.begins_at is None or self.booted_at is None:
            return False
        return self.begins_at <= self.booted_at + _FIRST_LINES_S


KERNEL_LOG: Key[KernelLog] = Key("kernel-log")
