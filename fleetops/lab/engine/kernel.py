"""What the standard library does not offer: titles, death signals, a thread's own end, an unbreakable wait.

Linux only, through the C library. Kernel facts: proc(5), prctl(2), clone(2).
"""

import ctypes
import mmap
import os
import signal
from pathlib import Path
from typing import NoReturn

_PR_SET_PDEATHSIG = 1
_PR_SET_NAME = 15
_SYS_EXIT = {"x86_64": 60, "aarch64": 93}

_CLONE_VM, _CLONE_FS, _CLONE_FILES, _CLONE_SIGHAND = 0x100, 0x200, 0x400, 0x800
_CLONE_VFORK, _CLONE_THREAD, _CLONE_SYSVSEM = 0x4000, 0x10000, 0x40000
_STACK_BYTES = 1 << 18

_C = ctypes.CDLL(None, use_errno=True)


def set_title(title: str) -> None:
    """Rename this process as setproctitle does: the argv area, and the kernel's name cut to 15 bytes."""
    start, end = _argv_area()
    if start:
        text = title.encode()[: end - start - 1]
        ctypes.memset(start, 0, end - start)
        ctypes.memmove(start, text, len(text))
    _C.prctl(_PR_SET_NAME, title.encode()[:15], 0, 0, 0)


def name() -> str:
    """What the kernel calls this process: its comm."""
    return Path("/proc/self/comm").read_text().strip()


def resident_kb() -> int:
    """This process's resident memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE // 1024


def when_parent_dies(number: int) -> None:
    """The signal that this process gets when its parent ends; 0 for none."""
    _C.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)


def end_this_thread() -> NoReturn:
    """End the calling thread and nothing else. From the main thread: a zombie leader whose threads live."""
    _C.syscall(_SYS_EXIT[os.uname().machine], 0)
    raise AssertionError("exit does not return")


def wait_in_kernel() -> NoReturn:
    """Put the calling thread into D until SIGKILL.

    The parent of a vfork waits in D until its child lets go of the memory. The child here is a thread of the same
    process that pauses for ever: nothing beside this process remains when it is killed, as a vfork child of its own
    would, holding every file of its parent.
    """
    stack = mmap.mmap(-1, _STACK_BYTES)
    top = ctypes.addressof(ctypes.c_char.from_buffer(stack)) + _STACK_BYTES - 64
    same = _CLONE_VM | _CLONE_FS | _CLONE_FILES | _CLONE_SIGHAND | _CLONE_THREAD | _CLONE_SYSVSEM
    _C.clone(_C.pause, ctypes.c_void_p(top), same | _CLONE_VFORK, None)
    raise AssertionError("the wait in the kernel came back")


def ignore_polite_signals() -> None:
    """From here on only SIGKILL counts, as for a process stuck in the driver."""
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(each, signal.SIG_IGN)


def _argv_area() -> tuple[int, int]:
    """Where the argv lies in memory: arg_start and arg_end, fields 48 and 49 of /proc/self/stat."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    return int(fields[45]), int(fields[46])
