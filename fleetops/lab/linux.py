"""The few Linux calls that Python 3.11 does not offer: namespaces, mounts, the parent-death signal.

Standard library only. Flags are from the kernel's `linux/sched.h`, `linux/mount.h`, `linux/prctl.h`, `linux/sockios.h`.
"""

import ctypes
import fcntl
import os
import platform
import signal
import socket
import struct
from pathlib import Path

NEWCGROUP = 0x02000000
NEWNS = 0x00020000
NEWUTS = 0x04000000
NEWIPC = 0x08000000
NEWUSER = 0x10000000
NEWPID = 0x20000000
NEWNET = 0x40000000
HOST_NAMESPACES = NEWUSER | NEWPID | NEWIPC | NEWUTS | NEWNET | NEWCGROUP

_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT = 1, 2, 4, 8, 32
_MS_NOATIME, _MS_NODIRATIME, _MS_RELATIME = 1024, 2048, 1 << 21
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18
_MNT_DETACH = 2
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203, "s390x": 217}

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    """Leave the namespaces in `flags` for fresh ones. Raises OSError."""
    _check(_libc.unshare(flags), "unshare")


def join(descriptor: int, kind: int) -> None:
    """Enter the namespace behind an open /proc/PID/ns file; the calling thread alone. Raises OSError."""
    _check(_libc.setns(descriptor, kind), "setns")


def become_root_of_own_namespace(flags: int) -> None:
    """A fresh user namespace in which the caller's own ids are root's, with the other namespaces in `flags`."""
    user, group = os.geteuid(), os.getegid()
    unshare(flags | NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")


def bind(source: Path | str, target: Path | str, *, read_only: bool = False) -> None:
    """Show a file or a folder, with all that is mounted below it, in another place."""
    _mount(source, target, None, _MS_BIND | _MS_REC)
    if read_only:
        _mount(None, target, None, _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _kept_flags(target))


def mount_tmpfs(target: Path | str, *, mode: str = "0755", size: str = "", inodes: int = 0) -> None:
    """An empty file system in memory; `size` as mount(8) spells it, `inodes` 0 for as many as there may be."""
    options = [
        f"mode={mode}",
        *([f"size={size}"] if size else []),
        *([f"nr_inodes={inodes}"] if inodes else []),
    ]
    _mount("tmpfs", target, "tmpfs", _MS_NOSUID | _MS_NODEV, ",".join(options))


def unmount(target: Path | str) -> None:
    """Take away what was mounted there last, also while somebody still uses it. Raises OSError."""
    _check(_libc.umount2(os.fsencode(target), _MNT_DETACH), f"umount {target}")


def mount_proc(target: Path | str) -> None:
    """The process table of the caller's pid namespace. Raises PermissionError where /proc is masked outside."""
    _mount("proc", target, "proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC)


def mount_devpts(target: Path | str) -> None:
    """Pseudo terminals of the host's own."""
    _mount("devpts", target, "devpts", _MS_NOSUID | _MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")


def stop_mount_propagation() -> None:
    """From here on, mounts made by the caller stay in its own namespace."""
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)


def change_root(new_root: Path) -> None:
    """Make `new_root`, a mount point, the whole file system; nothing of the old one remains visible."""
    os.chdir(new_root)
    _check(_libc.syscall(_PIVOT_ROOT[platform.machine()], b".", b"."), "pivot_root")
    _check(_libc.umount2(b".", _MNT_DETACH), "umount")
    os.chdir("/")


def die_with_parent() -> None:
    """SIGKILL for the caller when the thread that started it ends."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")


def refuse_new_privileges() -> None:
    """No program started from here on can gain rights by a set-uid bit."""
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")


def stay_inspectable() -> None:
    """Keep /proc/self writable by its owner after the uid has changed."""
    _check(_libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0), "prctl")


def raise_loopback() -> None:
    """Bring the network namespace's `lo` up."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours:
        request = struct.pack("16sh14s", b"lo", 0, b"")
        answer = fcntl.ioctl(ours, _SIOCGIFFLAGS, request)
        flags = struct.unpack("16sh14s", answer)[1]
        fcntl.ioctl(ours, _SIOCSIFFLAGS, struct.pack("16sh14s", b"lo", flags | _IFF_UP, b""))


def _mount(
    source: Path | str | None, target: Path | str, kind: str | None, flags: int, options: str | None = None
) -> None:
    _check(
        _libc.mount(
            None if source is None else os.fsencode(source),
            os.fsencode(target),
            None if kind is None else kind.encode(),
            ctypes.c_ulong(flags),
            None if options is None else options.encode(),
        ),
        f"mount {source or ''} on {target}",
    )


def _kept_flags(target: Path | str) -> int:
    """Flags that an inherited mount carries and that a remount in a user namespace may not drop."""
    status = os.statvfs(target)
    flags = 0
    for seen, flag in (
        (os.ST_NOSUID, _MS_NOSUID),
        (os.ST_NODEV, _MS_NODEV),
        (os.ST_NOEXEC, _MS_NOEXEC),
        (os.ST_NOATIME, _MS_NOATIME),
        (os.ST_NODIRATIME, _MS_NODIRATIME),
        (os.ST_RELATIME, _MS_RELATIME),
    ):
        if status.f_flag & seen:
            flags |= flag
    return flags


def _check(result: int, call: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
