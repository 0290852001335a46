"""A run on very many hosts, in several processes: one interpreter keeps one core busy with what SSH computes for each login.

Each process has a part of the hosts and connections of its own. They are forked before anything is connected, send each result
as it comes, and are told of an interrupt by this process alone, whose process group they leave: a second Ctrl-C of the
terminal must not reach them as one of their own.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from fleetops.fleet.run import (
    QUIT_S,
    CannotTell,
    EndableSessions,
    RunInterrupted,
    Unheard,
    report_of,
    run_on_hosts,
    tell,
)
from fleetops.model.command import Command, Outcome
from fleetops.model.errors import FleetopsError, Unreachable
from fleetops.model.fleet import Host
from fleetops.model.run import RunReport
from fleetops.ssh.fanout import WIDTH, Result
from fleetops.ssh.quote import KILL_AFTER_S

HOSTS_A_PROCESS = 32
"""Fewer are not worth a process of their own: it costs as much as some logins."""

_ENDING_S = QUIT_S + 2.0
_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PR_SET_PDEATHSIG = 1
OnResult = Callable[[Result[Host, Outcome]], None]


def processes_for(hosts: int) -> int:
    """How many processes share so many hosts: one for each core, and none that would have too little to do."""
    if sys.platform != "linux":  # elsewhere a fork may end a process that has threads
        return 1
    return max(1, min(len(os.sched_getaffinity(0)), hosts // HOSTS_A_PROCESS))


def run_spread(
    sessions: EndableSessions,
    hosts: Sequence[Host],
    command: Command,
    *,
    processes: int,
    width: int = WIDTH,
    deadline_s: float | None = None,
    on_result: OnResult | None = None,
) -> RunReport:
    """`run_on_hosts` in that many processes, `width` hosts at a time in all of them together; raises what that raises.

    `sessions` must not have connected to any host yet.
    """
    processes = min(processes, width, len(hosts))
    if processes < 2:
        return run_on_hosts(sessions, hosts, command, width=width, deadline_s=deadline_s, on_result=on_result)
    shares = [width // processes + (number < width % processes) for number in range(processes)]
    results: dict[str, Result[Host, Outcome]] = {}
    parts = [
        _Part.begin(_Work(sessions, command, share, deadline_s), hosts[first::processes])
        for first, share in enumerate(shares)
    ]
    try:
        for result in _results(parts):
            results[result.item.name] = result
            tell(on_result, result)
    except KeyboardInterrupt:
        raise _interrupted(parts, command) from None
    except CannotTell as error:
        raise Unheard(error.why, _interrupted(parts, command)) from error
    finally:
        _end(parts)
    return report_of(hosts, results)


def _end(parts: "Sequence[_Part]") -> None:
    """They are over, whatever they do; one more Ctrl-C by now takes nothing away from what is said of the others."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDINGS)
    for part in parts:
        part.end()
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    except KeyboardInterrupt:
        return


@dataclass(frozen=True)
class _Work:
    """What each process does with its hosts."""

    sessions: EndableSessions
    command: Command
    width: int
    deadline_s: float | None

    def do(self, hosts: Sequence[Host], pipe: Connection, parent: int) -> None:
        """In the process itself."""
        os.setpgid(0, 0)
        _die_with(parent)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in (
            signal.SIGTERM,
            signal.SIGHUP,
        ):  # whoever stops all of them at once means the one that asks
            signal.signal(number, signal.SIG_IGN)
        try:
            run_on_hosts(
                self.sessions,
                hosts,
                self.command,
                width=self.width,
                deadline_s=self.deadline_s,
                on_result=lambda result: pipe.send(
                    (result.item.name, result.value, result.error, result.duration_s)
                ),
            )
        except FleetopsError as error:
            pipe.send(error)
        except BrokenPipeError:  # whom it works for is gone
            return
        pipe.send(None)


@dataclass
class _Part:
    """One process and its hosts.

    Attributes:
        left: those that have given no result yet.
        interrupted: what it has said of an interrupt that reached it.
    """

    process: BaseProcess
    pipe: Connection
    left: dict[str, Host]
    began: float = field(default_factory=time.monotonic)
    interrupted: RunInterrupted | None = None

    @classmethod
    def begin(cls, work: _Work, hosts: Sequence[Host]) -> "_Part":
        context: Any = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=work.do, args=(hosts, theirs, os.getpid()), daemon=True)
        with warnings.catch_warnings():
            # Of threads at a fork: the only ones by now draw the progress, and the new process draws nothing.
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        theirs.close()
        return cls(process, ours, {host.name: host for host in hosts})

    def read(self) -> "Result[Host, Outcome] | FleetopsError | None":
        """The next that it says: a result, the error that has ended it, or None at its end. Raises EOFError where it died."""
        said = self.pipe.recv()
        if not isinstance(said, tuple):
            return said  # type: ignore[no-any-return]
        name, value, error, duration_s = said
        return Result(self.left.pop(name), value, error, duration_s)

    def lost(self) -> Iterator[Result[Host, Outcome]]:
        """What is known of its hosts once it has died."""
        self.process.join(1.0)
        why = f"the process that asked it has ended ({self.process.exitcode}); whether the command ran is not known"
        for host in list(self.left.values()):
            error = Unreachable(f"{host.name}: {why}", host=host.name, hint=f"fleetops probe {host.name}")
            yield Result(host, None, error, time.monotonic() - self.began)
        self.left.clear()

    def interrupt(self) -> None:
        """As Ctrl-C."""
        if self.process.pid and self.process.is_alive():
            os.kill(self.process.pid, signal.SIGINT)

    def end(self) -> None:
        """It is over, whatever it does."""
        self.process.join(0.2)
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.pipe.close()


def _die_with(parent: int) -> None:
    """Begin nothing any more once whom it works for is gone, however that was ended."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _results(parts: Sequence[_Part]) -> Iterator[Result[Host, Outcome]]:
    """Of all of them, as they come. Raises the first error that is no single host's."""
    open_parts: dict[Any, _Part] = {part.pipe: part for part in parts}
    while open_parts:
        for pipe in wait(list(open_parts), timeout=0.2):  # an interrupt just before a wait is seen after it
            part = open_parts[pipe]
            try:
                said = part.read()
            except (EOFError, OSError):
                del open_parts[pipe]
                yield from part.lost()
                continue
            if isinstance(said, Result):
                yield said
            elif said is None:
                del open_parts[pipe]
            elif isinstance(
                said, RunInterrupted
            ):  # somebody has interrupted that process: it was meant for all
                part.interrupted = said
                raise KeyboardInterrupt
            else:
                raise said


def _interrupted(parts: Sequence[_Part], command: Command) -> RunInterrupted:
    """Have each process end what it has under way, and put together what they say. A second Ctrl-C ends the wait."""
    left_s: dict[str, float] = {}
    ended: list[str] = []
    until = time.monotonic() + _ENDING_S
    silent = list(parts)
    try:
        for part in parts:
            if part.interrupted is None:
                part.interrupt()
        for part in parts:
            told = part.interrupted or _last_word(part, until)
            if told is not None:
                silent.remove(part)
                left_s |= told.left_s
                ended += told.ended
    except KeyboardInterrupt:
        pass
    for part in silent:  # of those that have said nothing, any of their hosts may have begun
        left_s |= dict.fromkeys(part.left, command.deadline_s + KILL_AFTER_S)
    return RunInterrupted(left_s, ended)


def _last_word(part: _Part, until: float) -> RunInterrupted | None:
    """What it says of the interrupt; nothing where it had come to its end before, or says nothing in time."""
    while part.pipe.poll(max(0.0, until - time.monotonic())):
        try:
            said = part.read()
        except (EOFError, OSError):
            return None
        if isinstance(said, RunInterrupted):
            return said
        if said is None:
            return RunInterrupted({}, ())
    return None
