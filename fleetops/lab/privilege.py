"""The lab's processes run as a plain user, also when root starts it: root gives up its rights first.

Root's own user namespace could write the machine's sysctls (measured), so the lab never has root's uid. What
the unprivileged uid then cannot reach because a folder on the way is closed to it (root's home, where the
interpreter may lie) is shown to it, and only that, in a mount namespace of the lab's own.
"""

import errno
import os
import stat
import sys
from pathlib import Path

from fleetops.lab import linux
from fleetops.model.errors import FleetopsError
from fleetops.model.exit import Exit

LAB_UID = 61174
ENTERING = ("/usr/bin/nsenter", "/usr/bin/setsid")

_SETTINGS = (
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    ("/proc/sys/user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=10000"),
)


class LabUnavailable(FleetopsError):  # noqa: N818 - named for what the user reads
    """This machine cannot run the embedded lab; the hint names the setting that forbids it."""

    exit_code = Exit.REFUSED
    kind = "lab-unavailable"


def check_machine() -> None:
    """Raises LabUnavailable where there is no Linux, or not the programs that enter its namespaces."""
    if sys.platform != "linux":
        raise LabUnavailable(
            "the embedded lab is made of Linux namespaces, and this is not Linux",
            hint="run it in a Linux virtual machine",
        )
    for program in ENTERING:
        if not Path(program).exists():
            raise LabUnavailable(f"the embedded lab needs {program}", hint="install util-linux")


def gives_up_root() -> bool:
    """Whether the caller is root and has a plain uid to become.

    Root of a user namespace (a rootless container) that holds no such uid is no more than the user who made it.
    """
    if os.geteuid() != 0:
        return False
    ranges = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    return any(int(first) <= LAB_UID < int(first) + int(count) for first, _, count in ranges)


def lab_owner() -> int:
    """The uid that the lab's files and processes belong to."""
    return LAB_UID if gives_up_root() else os.geteuid()


def give_up_root(folder: Path) -> None:
    """Become the lab's uid for good where the caller is root; `folder` stays writable.

    Raises LabUnavailable where the uid could not read the interpreter or this package.
    """
    if not gives_up_root():
        return
    linux.unshare(linux.NEWNS)
    linux.stop_mount_propagation()
    needed = [*_needed_folders(), folder]
    for closed in sorted({top for path in needed if (top := closed_folder(path, LAB_UID))}):
        _show_only([path for path in needed if path.is_relative_to(closed)], closed, writable=folder)
    os.setgroups([])
    os.setgid(LAB_UID)
    os.setuid(LAB_UID)
    linux.stay_inspectable()
    linux.refuse_new_privileges()
    _check_readable(needed)


def closed_folder(path: Path, uid: int) -> Path | None:
    """The first folder above `path` that `uid` may not pass through, if any."""
    for folder in reversed(path.parents):
        status = folder.stat()
        passable = stat.S_IXUSR if status.st_uid == uid else stat.S_IXOTH
        if not status.st_mode & passable:
            return folder
    return None


def explain_refusal(error: OSError) -> LabUnavailable:
    """Why the kernel did not allow the lab's namespaces, as far as its settings tell."""
    for path, forbidding, remedy in _SETTINGS:
        if Path(path).exists() and Path(path).read_text().strip() == forbidding:
            return LabUnavailable(
                f"this machine does not let a plain user make user namespaces ({path} is {forbidding})",
                hint=f"as root: {remedy}",
            )
    if "mount proc" in str(error) and error.errno in (errno.EPERM, errno.EACCES):
        return LabUnavailable(
            "this machine masks parts of /proc, so the lab's hosts cannot have one of their own",
            hint="in a container: start it with an unmasked /proc (docker run --security-opt systempaths=unconfined)",
        )
    return LabUnavailable(
        f"this machine does not allow the lab's namespaces: {error}",
        hint="in a container: allow unshare, mount and pivot_root (docker run --security-opt seccomp=unconfined)",
    )


def _needed_folders() -> list[Path]:
    """The interpreter, its libraries and this package, without what lies inside another of them."""
    package = Path(__file__).resolve().parent.parent
    places = {Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve().parent.parent, package}
    places |= {Path(entry) for entry in sys.path if entry and Path(entry).is_dir()}
    known = {place.resolve() for place in places} - {Path("/")}
    return sorted(place for place in known if not any(other in place.parents for other in known))


def _show_only(paths: list[Path], closed: Path, *, writable: Path) -> None:
    """Replace a closed folder by an open, empty one that holds nothing but these paths."""
    sources = {path: os.open(path, os.O_PATH) for path in paths}
    linux.mount_tmpfs(closed)
    for path, source in sources.items():
        path.mkdir(parents=True, exist_ok=True)
        linux.bind(f"/proc/self/fd/{source}", path, read_only=path != writable)
        os.close(source)


def _check_readable(paths: list[Path]) -> None:
    for path in [*paths, Path(__file__)]:
        if not os.access(path, os.R_OK):
            raise LabUnavailable(
                f"the lab runs as uid {LAB_UID} when root starts it, and that uid may not read {path}",
                hint=f"chmod -R go+rX {path}, or start the lab as a plain user",
            )
