"""What starts a service again when it ends: a systemd unit, a container's restart policy, a shell loop."""

from dataclasses import dataclass, field

from fleetops.model.fact import Key
from fleetops.model.machine import Process


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A systemd service unit, as its manager tells.

    Attributes:
        uid: the user whose manager it belongs to; None for the system's.
        restart: `Restart=` (no, always, on-failure, ...); enabled: `UnitFileState` (enabled, disabled, static, ...).
        active: `ActiveState`; sub: `SubState` (`auto-restart` while it waits to be started again).
        main_pid: 0 where it has none.
        pids: everything in its control group.
        command: `ExecStart`, its words as systemd prints them: without quotes, so parted at every blank.
        file: where it is written down; transient: made by `systemd-run`.
        triggered_by: the timers, sockets and paths that start it.
        user, directory: "" where it names none.
        environment: what it sets (`NAME=VALUE`) or reads from a file (`FILE`).
    """

    name: str
    uid: int | None = None
    restart: str = "no"
    enabled: str = ""
    active: str = ""
    sub: str = ""
    main_pid: int = 0
    pids: tuple[int, ...] = ()
    command: tuple[str, ...] = ()
    file: str = ""
    transient: bool = False
    triggered_by: tuple[str, ...] = ()
    user: str = ""
    directory: str = ""
    environment: tuple[str, ...] = ()

    @property
    def is_up(self) -> bool:
        """It runs, comes up, goes down, or waits to be started again."""
        return self.active in {"active", "activating", "reloading", "deactivating"}


@dataclass(frozen=True, kw_only=True)
class Container:
    """A container of Docker or Podman; `runtime` is "" where only the cgroup's name tells that there is one.

    Attributes:
        uid: the user whose containers it is among (0: root's, Docker's).
        restart: its restart policy (no, always, unless-stopped, on-failure).
        status: running, restarting, exited, ...
        removes: it is removed when it ends (`--rm`).
        pid: its first process as this host counts; 0 where there is none.
        pids: everything whose cgroup bears its id.
        command: path and arguments of its first process.
    """

    id: str
    runtime: str = ""
    uid: int = 0
    name: str = ""
    image: str = ""
    restart: str = ""
    status: str = ""
    removes: bool = False
    pid: int = 0
    pids: tuple[int, ...] = ()
    command: tuple[str, ...] = ()

    @property
    def is_up(self) -> bool:
        """It runs, or is between two runs."""
        return self.status in {"running", "restarting", "paused", "stopping"}


@dataclass(frozen=True, kw_only=True)
class Terminal:
    """A session of tmux or screen: the process at its top (a pane's, or screen's own) and the session's name."""

    program: str
    pid: int
    name: str


@dataclass(frozen=True, kw_only=True)
class Supervisors:
    """What a node has that keeps processes alive.

    `scripts`: lines that may start an engine, in the scripts that shells work through: (pid of the shell, line).
    `lives_in`: what a process's cgroup says where no manager has told of it: (pid, unit name or container id).
    `silent`: whoever was there and gave no answer in time (`docker`, `systemd of uid 1000`).
    """

    units: tuple[Unit, ...] = ()
    containers: tuple[Container, ...] = ()
    terminals: tuple[Terminal, ...] = ()
    scripts: tuple[tuple[int, str], ...] = ()
    lives_in: tuple[tuple[int, str], ...] = ()
    silent: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Supervisor:
    """What starts a node's service again, and whether it may be stopped.

    Attributes:
        title: for a person (`unit sglang.service (Restart=always, enabled)`).
        doubt: why it cannot be shown to be the service's alone, or cannot be stopped by fleetops; "" where it can.
        unit, container: what it is, where it is one of these.
        shells: of a loop: the shells, outermost first.
    """

    title: str
    doubt: str = ""
    unit: Unit | None = None
    container: Container | None = None
    shells: tuple[Process, ...] = field(default=())


SUPERVISORS: Key[Supervisors] = Key("supervisors")
