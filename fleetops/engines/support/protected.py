"""Processes that never belong to a service, whatever else speaks for it: the node's own, and the operators'."""

from itertools import takewhile

from fleetops.engines.support.command_line import file_name
from fleetops.model.machine import Process

COMM_LENGTH = 15
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish", "ksh", "tcsh", "csh", "ash", "mksh", "busybox"})
# Programs that keep machines, logins and terminals alive; compared as the kernel cuts their names.
_KEEPERS = frozenset(
    name[:COMM_LENGTH]
    for name in (
        *("systemd", "init", "(sd-pam)", "dbus-daemon", "dbus-broker", "cron", "crond", "atd", "supervisord"),
        *("sshd", "sshd-session", "sshd-auth", "dropbear", "mosh-server", "login", "agetty", "getty"),
        *("su", "sudo", "doas", "tmux", "screen", "SCREEN", "dtach", "abduco", "zellij"),
        *("containerd", "dockerd", "conmon", "runc", "crun", "tini", "dumb-init", "docker-init"),
        *("lxc-start", "lxc-attach", "lxcfs"),
    )
)
_KEEPER_PREFIXES = ("systemd-", "tmux:", "sshd:", "sshd-", "containerd-shim")


# Programs that hold GPU files for the driver's sake, not for a model's.
_DRIVER_DAEMONS = frozenset(
    name[:COMM_LENGTH]
    for name in (
        *("nvidia-persistenced", "nv-fabricmanager", "nv-hostengine", "nvidia-imex"),
        *("dcgm-exporter", "nvidia_gpu_exporter", "nvidia-smi"),
    )
)


def is_driver_daemon(process: Process) -> bool:
    """Whether it holds GPU files for the driver's sake (persistence, fabric, monitoring), by its comm."""
    return serves_driver(process.comm)


def serves_driver(comm: str) -> bool:
    """The same, of whom no more than the kernel's name is known."""
    return comm in _DRIVER_DAEMONS


def protected(process: Process) -> str:
    """Why this process is never a service's, in few words; "" where nothing speaks against it."""
    if process.pid == 1:
        return "the first process of the node"
    if _is_kernel_thread(process):
        return "a kernel thread"
    if process.comm in _KEEPERS or process.comm.startswith(_KEEPER_PREFIXES):
        return f"{process.comm} keeps logins or services alive"
    if is_driver_daemon(process):
        return f"{process.comm} serves the GPU driver"
    if _is_interactive_shell(process):
        return "a login shell"
    return ""


def runs_script(process: Process) -> bool:
    """A shell that works through a script or a `-c` line, and may start what it started again."""
    if process.is_zombie or not process.cmdline:
        return False
    return file_name(process.cmdline[0].lstrip("-")) in _SHELLS and not _is_interactive_shell(process)


def _is_kernel_thread(process: Process) -> bool:
    """Kernel threads have neither group nor session nor a command line; zombies have lost theirs."""
    return process.pgid == process.sid == 0 and not process.cmdline and not process.is_zombie


def _is_interactive_shell(process: Process) -> bool:
    """A shell without a script: a login shell, a terminal's, or one that reads its commands from a connection."""
    if process.is_zombie or not process.cmdline:
        return False
    name, arguments = process.cmdline[0], process.cmdline[1:]
    if file_name(name.lstrip("-")) not in _SHELLS:
        return False
    if name.startswith("-"):
        return True
    options = tuple(takewhile(lambda word: word.startswith("-"), arguments))
    if any(_has_option(word, "c") for word in options):
        return False
    return len(options) == len(arguments) or any(_has_option(word, "s") for word in options)


def _has_option(word: str, letter: str) -> bool:
    return not word.startswith("--") and letter in word
