"""A connection to one host: run, batch, request."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext

import paramiko

from fleetops.model.command import Command, Outcome
from fleetops.model.errors import ConnectionLost, Silence, Unreachable
from fleetops.model.session import Answer, Streaming
from fleetops.ssh import http, quote
from fleetops.ssh.dial import open_through
from fleetops.ssh.exchange import GRACE_S, START_S, End, Exchange
from fleetops.ssh.link import Link
from fleetops.ssh.outcomes import batch_outcomes, run_outcome
from fleetops.ssh.streams import Sections, Text
from fleetops.ssh.sudo import SudoDialogue, SudoPassword
from fleetops.ssh.underway import UnderWay

OPEN_S = 15.0
"""How long a host may take to open a channel, or to take a call."""

LONGEST_LINE_BYTES = 100_000
"""Linux takes no argument over 128 KiB, and sshd hands the whole line to the login shell as one."""

_NOT_KNOWN = "; whether it took effect is not known"
_SESSIONS_AT_ONCE = 6  # sshd's MaxSessions is 10, and it frees a place a little later than it is left
_ROOM_S = 3.0
_RETRY_S = 0.05


class SshSession:
    """What `model.session.Session` promises, over one link; thread-safe. Calls over one warm connection share it."""

    def __init__(self, name: str, link: Link, password: SudoPassword) -> None:
        self._name = name
        self._link = link
        self._password = password
        self._under_way = UnderWay(name)
        self._places = threading.BoundedSemaphore(_SESSIONS_AT_ONCE)

    @property
    def host(self) -> str:
        """The host's inventory name."""
        return self._name

    def run(self, command: Command, on_output: Callable[[str], None] | None = None) -> Outcome:
        """Run one command to its end or its deadline; `on_output` sees both streams as they come, without limit.

        Raises:
            Unreachable: it was never started (NoRoot where only sudo failed).
            ConnectionLost: whether it ran is not known.
        """
        sudo = self._needs_sudo(command)
        nonce = quote.new_nonce()
        line = quote.command_line(command, nonce, sudo=sudo)
        if len(line) > LONGEST_LINE_BYTES:
            return self._run_long(command, on_output)
        out, err = (
            Sections(nonce, [command.limit_bytes], closed=False, tap=Text(on_output) if on_output else None)
            for _ in range(2)
        )
        longest_s = command.deadline_s + quote.KILL_AFTER_S
        sending = self._under_way.call(nonce, out, root=command.root, longest_s=longest_s)
        with self._reading(not command.changes):
            return self._exchange(command, line, nonce, (out, err), sending)

    def end_running(self, within_s: float) -> None:
        """End what `run` has under way, as its deadline would, and wait for that; nothing new can be run any more.

        `may_run_s` says afterwards whether it helped. A command so long that it travelled as a batch is not ended.
        """
        for call in self._under_way.stop():
            if call.shell_pid:
                ending = quote.end_command(call.nonce, call.shell_pid, root=call.root)
                nonce = quote.new_nonce()
                line = quote.command_line(ending, nonce, sudo=self._needs_sudo(ending))
                streams = [Sections(nonce, [ending.limit_bytes], closed=False) for _ in range(2)]
                self._exchange(ending, line, nonce, streams, nullcontext())
        self._under_way.await_none(within_s)

    @property
    def may_run_s(self) -> float:
        """How much longer something that `run` started may run on the host: 0 where nothing does."""
        return self._under_way.left_s

    def _exchange(
        self,
        command: Command,
        line: bytes,
        nonce: str,
        streams: Sequence[Sections],
        sending: AbstractContextManager[None],
    ) -> Outcome:
        sudo = self._needs_sudo(command)
        with self._call(line, nonce, sudo=sudo, sending=sending) as (channel, dialogue):
            exchange = Exchange(
                channel,
                *streams,
                stdin=quote.command_input(command, nonce),
                allowances_s=(START_S, command.deadline_s + quote.KILL_AFTER_S + GRACE_S),
                batch=False,
                sudo=dialogue,
            )
            end = exchange.run()
            self._check_started(channel, exchange, end, dialogue)
            if end is End.CLOSED and channel.exit_status < 0:
                raise self._lost("the connection broke before the command's exit status came")
            return run_outcome(command, exchange, None if end is End.OVERDUE else channel.exit_status)

    def _run_long(self, command: Command, on_output: Callable[[str], None] | None) -> Outcome:
        """A command too long for a line travels as a batch of one; its output comes in one piece."""
        outcome = self.batch([command])[0]
        if on_output:
            on_output(outcome.stdout + outcome.stderr)
        return outcome

    def batch(self, commands: Sequence[Command]) -> list[Outcome]:
        """Run several reads in one round trip, each with its own deadline; outcomes in the same order.

        Where the login is not root, those that need root travel as a second batch through sudo.
        """
        outcomes: dict[int, Outcome] = {}
        for sudo in (False, True):
            places = [place for place, command in enumerate(commands) if self._needs_sudo(command) is sudo]
            if places:
                with self._reading(not any(commands[place].changes for place in places)):
                    results = self._batch([commands[place] for place in places], sudo=sudo)
                outcomes |= dict(zip(places, results, strict=True))
        return [outcomes[place] for place in range(len(commands))]

    def _batch(self, commands: Sequence[Command], *, sudo: bool) -> list[Outcome]:
        nonce = quote.new_nonce()
        script = quote.batch_script(commands, nonce)
        limits = [command.limit_bytes for command in commands]
        out, err = (Sections(nonce, limits, closed=True) for _ in range(2))
        spare_s = quote.KILL_AFTER_S + quote.GIVE_UP_AFTER_S + GRACE_S
        longest_s = sum(command.deadline_s + spare_s for command in commands)
        sending = self._under_way.call(nonce, out, root=sudo, longest_s=longest_s)
        line = quote.batch_line(nonce, sudo=sudo)
        with self._call(line, nonce, sudo=sudo, sending=sending) as (channel, dialogue):
            exchange = Exchange(
                channel,
                out,
                err,
                stdin=script,
                allowances_s=(START_S, *(command.deadline_s + spare_s for command in commands)),
                batch=True,
                sudo=dialogue,
            )
            end = exchange.run()
            self._check_started(channel, exchange, end, dialogue)
            if end is End.CLOSED:
                raise self._lost(
                    f"the connection or its shell ended after {out.ended} of {len(commands)} reads"
                )
            return batch_outcomes(commands, exchange)

    def request(
        self, port: int, method: str, path: str, body: bytes | None = None, *, deadline_s: float = 10.0
    ) -> Answer:
        """One HTTP request to a port of the host's own loopback. Raises OSError or TimeoutError where none answers."""
        with self.stream(port, method, path, body, deadline_s=deadline_s) as answer:
            return http.whole(answer)

    @contextmanager
    def stream(
        self,
        port: int,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        deadline_s: float = 10.0,
    ) -> Iterator[Streaming]:
        """The same, its answer read while it comes, over a channel of its own: many at once share the connection."""
        transport = self._link.transport()
        until = time.monotonic() + deadline_s
        try:
            channel = open_through(transport, "127.0.0.1", port, deadline_s)
        except paramiko.ChannelException as error:
            raise ConnectionRefusedError(f"nothing answers on port {port} of {self._name}") from error
        except (paramiko.SSHException, EOFError, OSError) as error:
            self._link.retire(transport)
            raise self._link.unreachable(f"it opens no channel to port {port}: {error}") from error
        left_s = until - time.monotonic()
        try:
            with http.stream(channel, method, path, body, deadline_s=left_s, headers=headers) as answer:
                yield answer
        except OSError as error:
            if not transport.is_active():
                raise self._lost(f"the connection broke during a request to port {port}") from error
            raise

    def _needs_sudo(self, command: Command) -> bool:
        return command.root and self._link.user != "root"

    @contextmanager
    def _call(
        self, line: bytes, nonce: str, *, sudo: bool, sending: AbstractContextManager[None]
    ) -> Iterator[tuple[paramiko.Channel, SudoDialogue | None]]:
        """A channel on which `line` has been started, closed afterwards; `sending` is around from then on."""
        dialogue = (
            SudoDialogue(self._password, nonce=nonce, host=self._name, user=self._link.user) if sudo else None
        )
        with self._places, closing(self._open()) as channel, sending:
            self._start(channel, line)
            yield channel, dialogue

    def _open(self) -> paramiko.Channel:
        """A channel for a call. Nothing was sent yet, so what fails is tried again while that can help.

        A connection that has died meanwhile is made anew once; a refusal is waited out for a moment, because
        sshd counts a session against MaxSessions until it has cleaned up behind it.
        """
        until = time.monotonic() + _ROOM_S
        fresh = False
        while True:
            transport = self._link.transport()
            try:
                return transport.open_session(timeout=OPEN_S)
            except paramiko.ChannelException as error:
                if time.monotonic() > until:
                    raise self._link.unreachable(f"it refuses a session: {error.text.lower()}") from error
                time.sleep(_RETRY_S)
            except (paramiko.SSHException, EOFError, OSError) as error:
                self._link.retire(transport)
                if fresh:
                    reason = Silence.TIMEOUT if transport.is_active() else None
                    raise self._link.unreachable(f"it opens no session: {error}", reason) from error
                fresh = True

    def _start(self, channel: paramiko.Channel, line: bytes) -> None:
        """Paramiko waits for ever for the answer to this; closing the channel ends that wait."""
        guard = threading.Timer(OPEN_S, channel.close)
        guard.daemon = True
        guard.start()
        try:
            channel.exec_command(line)  # bytes pass through unchanged
        except (paramiko.SSHException, EOFError, OSError) as error:
            self._link.retire(channel.get_transport())
            why = str(error) or "the connection broke"
            raise self._lost(f"it did not take the command: {why}") from error
        finally:
            guard.cancel()

    def _check_started(
        self, channel: paramiko.Channel, exchange: Exchange, end: End, dialogue: SudoDialogue | None
    ) -> None:
        """Raises the error for a call of which no sign came; a host that fell silent gets a new connection next time."""
        if end is End.OVERDUE:
            self._link.retire(channel.get_transport())
        if exchange.out.started and exchange.err.started:
            return
        if end is End.OVERDUE:
            raise self._lost(
                f"no sign of life {time.monotonic() - exchange.began:.0f} s after the command was sent",
                Silence.TIMEOUT,
            )
        if channel.exit_status < 0 and not channel.get_transport().is_active():
            raise self._lost("the connection broke right after the command was sent")
        said = quote.decode(exchange.out.preamble + b"\n" + exchange.err.preamble).strip()
        if dialogue is not None:
            raise dialogue.refusal(said)
        raise Unreachable(
            f"{self._name}: the login shell of {self._link.user} runs no commands: "
            f"{said.splitlines()[-1] if said else 'it said nothing'}",
            hint=f"try it there: ssh {self._name} true",
            host=self._name,
        )

    @contextmanager
    def _reading(self, only_reads: bool) -> Iterator[None]:
        """A connection that breaks while something is read leaves nothing open but the answer."""
        try:
            yield
        except ConnectionLost as error:
            if not only_reads:
                raise
            raise ConnectionLost(
                f"{error.message.removesuffix(_NOT_KNOWN)}; it was only reading",
                hint=f"fleetops probe {self._name}",
                host=self._name,
                reason=error.reason,
            ) from error

    def _lost(self, why: str, reason: Silence | None = None) -> ConnectionLost:
        return ConnectionLost(
            f"{self._name}: {why}{_NOT_KNOWN}",
            hint=f"look before doing it again: fleetops probe {self._name}",
            host=self._name,
            reason=reason,
        )
