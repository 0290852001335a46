"""One actor per resource: a lock file where the resource lives, in /run/fleetops on the node or its hypervisor.

Made atomically with its whole content (a hard link never replaces a file), naming the owner, the run, the boot and
since when. It lapses with the boot it names, and with its lease by that host's own uptime clock; a lock of a
controller process on this very machine that is no longer alive lapses too. None is taken over, nor given back, while a
change of its run is still under way on that host: every change leaves its claim there before it looks at the lock
(playbook/fence.py), and whoever takes a lapsed lock looks for claims once more when it has it.
"""

import json
import os
import pwd
import socket
from dataclasses import asdict, dataclass
from pathlib import Path

from fleetops.model.command import Command, Outcome, shell
from fleetops.model.errors import ConnectionLost, FleetopsError, Refused
from fleetops.model.session import Session
from fleetops.steps.support.detached import RUNS, UNDER_WAY, under_way

LOCKS = "/run/fleetops/locks"
NODE_LOCK = "node.lock"
HYPERVISOR_LOCK = "hypervisor.lock"

# A lease is at least this long; a run asks for as much as it may take (playbook deadlines, readiness, watch).
LEAST_LEASE_S = 900
_FOLDER = LOCKS
_RUNS = RUNS
_HELD = 75

# $1 folder, $2 name, $3 lease in seconds; stdin: the owner's JSON (one object, `{` first).
# Prints our own lock's JSON (status 0) or the present holder's (status 75).
_TAKE = r"""
umask 077
mkdir -p "$1" || exit 1
read -r up _ < /proc/uptime; up=${up%.*}
boot=$(cat /proc/sys/kernel/random/boot_id)
owner=$(cat)
mine="$1/.$2.$$"
printf '{"boot_id": "%s", "taken_at_uptime": %s, "until_uptime": %s, "owner": %s}\n' \
    "$boot" "$up" "$((up + $3))" "$owner" > "$mine" || { rm -f "$mine"; exit 1; }
if ln "$mine" "$1/$2" 2>/dev/null; then cat "$mine"; rm -f "$mine"; exit 0; fi
rm -f "$mine"
printf '{"now_uptime": %s, "now_boot_id": "%s", "lock": ' "$up" "$boot"
cat "$1/$2" || printf 'null'
printf '}\n'
exit 75
"""

# $1 folder, $2 name, $3 the run id that must stand in it, $4 the folder of all runs' changes. Removes it only while it
# still is that run's: it is moved aside first, so that a lock taken by somebody else in between is never deleted.
# With a change of that run under way it stays as it is (status 76, its name printed).
_DROP = (
    r"""
going() {"""
    + UNDER_WAY
    + r"""}
[ -e "$1/$2" ] || exit 0
left=$(going "$4" "$3")
if [ "$left" ]; then echo "$left"; exit 76; fi
aside="$1/.$2.dropped.$$"
mv "$1/$2" "$aside" 2>/dev/null || exit 0
if grep -qF "\"run_id\": \"$3\"" "$aside"; then rm -f "$aside"; exit 0; fi
ln "$aside" "$1/$2" 2>/dev/null
rm -f "$aside"
exit 75
"""
)


# $1 folder, $2 name. Prints nothing where there is no lock, else its holder's as _TAKE does.
_READ = r"""
lock=$(cat "$1/$2" 2>/dev/null) || { [ ! -e "$1/$2" ]; exit; }
read -r up _ < /proc/uptime
printf '{"now_uptime": %s, "now_boot_id": "%s", "lock": %s}\n' \
    "${up%.*}" "$(cat /proc/sys/kernel/random/boot_id)" "${lock:-null}"
"""

# $1 folder, $2 name, $3 run id: status 0 while the lock is that run's.
_CONFIRM = r"""
grep -qF "\"run_id\": \"$3\"" "$1/$2"
"""


@dataclass(frozen=True)
class Owner:
    """Who holds a lock: the run, and the controller's process with its start time."""

    run_id: str
    user: str
    controller: str
    pid: int
    start_ticks: int
    boot: str = ""

    @property
    def whose(self) -> str:
        """The user, and where: for people."""
        return f"{self.user} on {self.controller}"

    @classmethod
    def this_process(cls, run_id: str) -> "Owner":
        """This controller."""
        return cls(
            run_id,
            _login(),
            socket.gethostname(),
            os.getpid(),
            _ticks(os.getpid()),
            _boot(),
        )

    @property
    def is_here(self) -> bool:
        """It runs, or ran, on this machine, in this boot and this pid namespace: its pid can be looked up here."""
        return self.controller == socket.gethostname() and self.boot == _boot()

    @property
    def is_gone(self) -> bool:
        """Certain only on the machine the owner runs on: its process is no longer there."""
        return self.is_here and _ticks(self.pid) != self.start_ticks


def _boot() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{boot} {Path('/proc/self/ns/pid').readlink()}"


def _login() -> str:
    """Who runs this: by the user database, else by the environment, else by number."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return os.environ.get("USER") or f"uid {os.getuid()}"


def _ticks(pid: int) -> int:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return -1
    return int(stat.rpartition(")")[2].split()[19])


def take_lock(session: Session, name: str, owner: Owner, lease_s: int = LEAST_LEASE_S) -> None:
    """Take the lock `name` on the session's host, or keep it where this run has it. Raises Refused naming the holder."""
    outcome = _twice_at_most(session, _take(name, owner, lease_s))
    if outcome.ok:
        return
    if outcome.status != _HELD:
        raise FleetopsError(f"cannot take the lock on {session.host}: {outcome.said}", host=session.host)
    holder, since_s, lapsed = _holder(outcome)
    if holder and holder.run_id == owner.run_id and not lapsed:
        return
    if lapsed and holder:
        _nothing_goes_on(session, holder)
        session.run(_drop(name, holder.run_id))
        outcome = session.run(_take(name, owner, lease_s))
        if outcome.ok:
            _nothing_began_meanwhile(session, name, holder, owner)
            return
        holder, since_s, _ = _holder(outcome)
    raise _refused(session.host, holder, since_s)


def _twice_at_most(session: Session, command: Command) -> Outcome:
    """Taking a lock that is this run's already keeps it, giving it back twice does nothing: a lost answer may be asked for again."""
    try:
        return session.run(command)
    except ConnectionLost:
        return session.run(command)


def must_be_free(session: Session, name: str) -> None:
    """Nobody holds the lock `name` on the session's host, and no change of a lapsed one goes on there. Changes nothing.

    Raises Refused naming the holder.
    """
    outcome = session.run(_read(name))
    if not outcome.ok:
        raise FleetopsError(
            f"the lock on {session.host} could not be read: {outcome.said}", host=session.host
        )
    if not outcome.stdout.strip():
        return
    holder, since_s, lapsed = _holder(outcome)
    if holder and lapsed:
        _nothing_goes_on(session, holder)
        return
    raise _refused(session.host, holder, since_s)


def _nothing_goes_on(session: Session, holder: Owner) -> None:
    """A lock may have lapsed while a change of its run goes on, detached from its controller: nobody acts beside it."""
    outcome = session.run(under_way(holder.run_id, _RUNS))
    if not outcome.ok or outcome.stdout.strip():
        what = ", ".join(outcome.stdout.split()) or f"what it does could not be read: {outcome.said}"
        raise Refused(
            f"run {holder.run_id} has ended, and a change of it is still under way on {session.host}: {what}",
            guard="lock",
            host=session.host,
            hint=f"when it has ended, run this again; fleetops run {session.host} -- ls {_RUNS}/{holder.run_id}",
        )


def _nothing_began_meanwhile(session: Session, name: str, holder: Owner, owner: Owner) -> None:
    """A change of the last holder that saw its lock right before it was taken over has left its claim by now."""
    try:
        _nothing_goes_on(session, holder)
    except Refused:
        session.run(_drop(name, owner.run_id))
        raise


def lapsed_holder(session: Session, name: str) -> tuple[Owner, float] | None:
    """Whose lapsed lock lies on the session's host, and since how many seconds; None where there is none. Changes nothing."""
    outcome = session.run(_read(name))
    if not outcome.ok or not outcome.stdout.strip():
        return None
    holder, since_s, lapsed = _holder(outcome)
    return (holder, since_s) if holder and lapsed and since_s is not None else None


def confirm_lock(session: Session, name: str, run_id: str) -> None:
    """The lock is still this run's. Raises Refused (guard `lock`) where it lapsed and somebody else may be at work."""
    outcome = session.run(shell(_CONFIRM, _FOLDER, name, run_id, name="fleetops-lock-held", root=True))
    if not outcome.ok:
        raise lock_lost(session.host, run_id)


def lock_lost(host: str, run_id: str) -> Refused:
    """The refusal for a run whose lock has lapsed, or is somebody else's by now."""
    return Refused(
        f"the lock of {run_id} on {host} is not its own any more: somebody else may be at work there",
        guard="lock",
        host=host,
        hint=f"fleetops probe {host}",
    )


def release_lock(session: Session, name: str, run_id: str) -> bool:
    """Give the lock back; whether it was this run's. Somebody else's is left alone."""
    return _twice_at_most(session, _drop(name, run_id)).ok


def _read(name: str) -> Command:
    return shell(_READ, _FOLDER, name, name="fleetops-lock-read", root=True)


def _take(name: str, owner: Owner, lease_s: int) -> Command:
    return shell(
        _TAKE,
        _FOLDER,
        name,
        str(lease_s),
        stdin=json.dumps(asdict(owner)),
        name="fleetops-lock",
        root=True,
        changes=True,
    )


def _drop(name: str, run_id: str) -> Command:
    return shell(_DROP, _FOLDER, name, run_id, _RUNS, name="fleetops-unlock", root=True, changes=True)


def _holder(outcome: Outcome) -> tuple[Owner | None, float | None, bool]:
    """The holder, since how many seconds, and whether its lock has lapsed."""
    try:
        seen = json.loads(outcome.stdout)
        lock, now = seen["lock"], seen["now_uptime"]
        owner = Owner(**lock["owner"])
        lapsed = lock["boot_id"] != seen["now_boot_id"] or now > lock["until_uptime"] or owner.is_gone
        return owner, now - lock["taken_at_uptime"], lapsed
    except (ValueError, KeyError, TypeError):
        return None, None, False


def _refused(host: str, holder: Owner | None, since_s: float | None) -> Refused:
    return Refused(_told(host, holder, since_s), guard="lock", host=host, hint="fleetops runs")


def _told(host: str, holder: Owner | None, since_s: float | None) -> str:
    if holder is None:
        return f"{host} is locked by another run, and its lock cannot be read (in {_FOLDER})"
    return (
        f"{host} is locked by run {holder.run_id} of {holder.whose} (pid {holder.pid}), for {since_s:.0f} s"
    )
