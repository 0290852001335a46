"""Running one command on many hosts."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from typing import Protocol

from fleetops.model.command import Command, Outcome
from fleetops.model.errors import FleetopsError, Interrupted, Unreachable, UsageError
from fleetops.model.exit import Exit, worst
from fleetops.model.fleet import Host
from fleetops.model.nodeset import fold_names
from fleetops.model.run import RunReport
from fleetops.model.session import Session
from fleetops.ssh import quote
from fleetops.ssh.fanout import WIDTH, GivenUp, Result, fan_out

SPARE_S = 60.0
"""How much longer than the command's deadline a host may take in all: jump hosts, login, a slow shell."""

GIVEN_UP_S = 1.5
"""How long a run past its deadline takes at most to end what it started."""

QUIT_S = quote.KILL_AFTER_S + 1.0
"""How long an interrupted run takes at most to end what it started."""


class RunInterrupted(Interrupted):
    """Says where the command was ended, and where it may go on.

    Args:
        left_s: host -> for how long it may go on.
        ended: hosts on which it was ended.
    """

    def __init__(self, left_s: Mapping[str, float], ended: Sequence[str]) -> None:
        told = ["interrupted", *([f"ended on {fold_names(ended)}"] if ended else [])]
        hint = ""
        if left_s:
            names, longest_s = fold_names(left_s), max(left_s.values())
            told.append(f"the command may still run on {names}, for another {longest_s:.0f} s at most")
            hint = f"look there before doing it again: fleetops probe {names}"
        super().__init__("; ".join(told), hint=hint)


class Unheard(FleetopsError):  # noqa: N818 - named for what the user reads
    """Nobody hears any more what comes of a run, so it was ended."""

    def __init__(self, error: OSError, ended: RunInterrupted) -> None:
        told = ended.message.partition("; ")[2]
        why = f"cannot write what came: {error.strerror or error}; no further host was begun"
        super().__init__("; ".join(filter(None, [why, told])), hint=ended.hint)


class EndableSession(Session, Protocol):
    """A session that can end what it runs; `ssh.session.SshSession` is one."""

    @property
    def may_run_s(self) -> float:
        """How much longer something that it started may run."""

    def end_running(self, within_s: float) -> None:
        """End what it runs, and start nothing any more."""


class EndableSessions(Protocol):
    """Whoever opens such sessions."""

    def session(self, host: Host) -> EndableSession:
        """The session to this host, opened when first asked for."""


def run_on_hosts(
    sessions: EndableSessions,
    hosts: Sequence[Host],
    command: Command,
    *,
    width: int = WIDTH,
    deadline_s: float | None = None,
    on_result: Callable[[Result[Host, Outcome]], None] | None = None,
) -> RunReport:
    """The command on every host, `width` at a time; `on_result` sees each as it comes.

    A host that cannot be reached, or that never comes back, costs its own result only. What has not ended `deadline_s` after
    the start is given up; None for as long as every round of hosts may take.

    Raises:
        UsageError: the command could not be sent to any host, or what is wrong is not one host's matter.
        Unheard: `on_result` could not write, after ending what was under way.
        RunInterrupted: on Ctrl-C, after ending what was under way as far as that can be done quickly.
    """
    quote.check(command)
    rounds = -(-len(hosts) // width)
    under_way = _UnderWay(sessions, command)
    results = {}
    longest_s = rounds * (command.deadline_s + SPARE_S)
    within_s = longest_s if deadline_s is None else min(deadline_s, longest_s)
    try:
        with closing(fan_out(hosts, under_way.run, width=width, deadline_s=within_s)) as coming:
            for result in coming:
                if isinstance(result.error, UsageError) and not result.error.host:
                    raise result.error
                results[result.item.name] = under_way.told_apart(result)
                _tell(on_result, results[result.item.name])
        if deadline_s is not None:
            under_way.end_within(GIVEN_UP_S)
    except KeyboardInterrupt:
        raise under_way.interrupted() from None
    except _CannotTell as error:
        raise Unheard(error.why, under_way.interrupted()) from error
    in_order = [results[host.name] for host in hosts]
    return RunReport(
        outcomes=tuple((r.item.name, r.value) for r in in_order if r.value is not None),
        failures=tuple((r.item.name, r.error) for r in in_order if r.error is not None),
    )


class _CannotTell(Exception):  # noqa: N818 - it says what is so
    """Whoever was told of results cannot hand them on."""

    def __init__(self, why: OSError) -> None:
        super().__init__(str(why))
        self.why = why


def _tell(on_result: Callable[[Result[Host, Outcome]], None] | None, result: Result[Host, Outcome]) -> None:
    """Tell of a result. Raises _CannotTell where that cannot be written."""
    try:
        if on_result:
            on_result(result)
    except OSError as error:
        raise _CannotTell(error) from error


class _UnderWay:
    """The sessions over which the command was started."""

    def __init__(self, sessions: EndableSessions, command: Command) -> None:
        self._sessions = sessions
        self._command = command
        self._used: dict[str, EndableSession] = {}
        self._over = threading.Event()

    def run(self, host: Host) -> Outcome:
        session = self._sessions.session(host)
        self._used[host.name] = session
        if self._over.is_set():  # looked at after the line above: whoever sets it ends what it finds there
            raise Unreachable(f"{host.name}: not started: the run is being ended", host=host.name)
        return session.run(self._command)

    def told_apart(self, result: Result[Host, Outcome]) -> Result[Host, Outcome]:
        """Of what was given up: whether it was begun at all."""
        name = result.item.name
        if not isinstance(result.error, GivenUp) or name in self._used:
            return result
        error = Unreachable(f"{name}: not begun when the deadline was over: nothing was sent", host=name)
        return replace(result, error=error)

    def end_within(self, seconds: float) -> None:
        """End the command wherever it runs, and start it nowhere any more."""
        self._over.set()
        used = dict(self._used)  # one that is still being let in starts nothing afterwards
        for _ in fan_out(used.values(), lambda session: session.end_running(seconds), deadline_s=seconds):
            pass

    def interrupted(self) -> RunInterrupted:
        """End the command wherever it runs, and say where it may go on nevertheless. A second Ctrl-C ends the wait."""
        used = dict(self._used)
        busy = {name: session for name, session in used.items() if session.may_run_s}
        with suppress(KeyboardInterrupt):
            self.end_within(QUIT_S)
        left_s = {name: session.may_run_s for name, session in used.items() if session.may_run_s}
        return RunInterrupted(left_s, [name for name in busy if name not in left_s])


def exit_code(report: RunReport) -> Exit:
    """0 where all ended with 0, 1 where a command failed, 3 where one ran out of time or a host was not reached."""
    ran = (_code_of(outcome) for _, outcome in report.outcomes)
    return worst([*ran, *(error.exit_code for _, error in report.failures)])


def _code_of(outcome: Outcome) -> Exit:
    if outcome.timed_out:
        return Exit.UNKNOWN
    return Exit.FINE if outcome.ok else Exit.FINDINGS
