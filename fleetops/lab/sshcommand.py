"""One command of an SSH session: started in the host, its streams carried to the client and back."""

import contextlib
import fcntl
import os
import select
import signal
import struct
import subprocess
import termios
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import paramiko
from paramiko.common import cMSG_CHANNEL_REQUEST
from paramiko.message import Message

from fleetops.lab.host import environment

_CHUNK = 65536
_LOOK_S = 500  # milliseconds between looks at whether the client has gone
_DRAIN_S = 0.2
_ANSWER_S = 5.0
# What OpenSSH does after a login: the home folder, then the login shell with the command.
_IN_HOME = 'cd; exec "$SHELL" -c "$0"'
_SHELL_IN_HOME = 'cd; exec "$SHELL"'


@dataclass
class Request:
    """What a client asked for before its command: environment and terminal.

    Attributes:
        answered: the client has been told that its command was started; the end of a short one must not come before.
    """

    environment: dict[str, str] = field(default_factory=dict)
    terminal: tuple[int, int] | None = None
    answered: threading.Event = field(default_factory=threading.Event)

    def open_terminal(self, width: int, height: int) -> None:
        """A pseudo terminal for the command to come."""
        self.terminal = os.openpty()
        self.resize(width, height)

    def resize(self, width: int, height: int) -> None:
        """Tell the terminal, if there is one, how big the client's is."""
        if self.terminal is not None:
            with contextlib.suppress(OSError):
                fcntl.ioctl(self.terminal[0], termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))


def start(channel: paramiko.Channel, entry: list[str], command: str | None, request: Request) -> None:
    """Run a command (None: a login shell) behind `entry`, and return at once."""
    inner = ["sh", "-c", _SHELL_IN_HOME] if command is None else ["sh", "-c", _IN_HOME, command]
    threading.Thread(target=_run, args=(channel, entry, inner, request), daemon=True).start()


def _run(channel: paramiko.Channel, entry: list[str], inner: list[str], request: Request) -> None:
    surroundings = environment() | request.environment
    if request.terminal is None:
        argv = [*entry, "setsid", *inner]
        pipe = subprocess.PIPE
        process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, env=surroundings, cwd="/")
        assert process.stdin  # noqa: S101 - for the type checker: pipes were asked for
        assert process.stdout  # noqa: S101
        assert process.stderr  # noqa: S101
        _feed(channel, process.stdin.fileno(), process.stdin.close)
        outputs = [
            _carry(process.stdout.fileno(), channel, channel.sendall, process.stdout.close),
            _carry(process.stderr.fileno(), channel, channel.sendall_stderr, process.stderr.close),
        ]
    else:
        ours, theirs = request.terminal
        argv = [*entry, "setsid", "--ctty", *inner]
        process = subprocess.Popen(
            argv, stdin=theirs, stdout=theirs, stderr=theirs, env=surroundings, cwd="/"
        )
        os.close(theirs)
        _feed(channel, ours, lambda: None)
        outputs = [_carry(ours, channel, channel.sendall, lambda: os.close(ours))]
    _finish(channel, process, outputs, request)


def _finish(
    channel: paramiko.Channel,
    process: "subprocess.Popen[bytes]",
    outputs: list[threading.Thread],
    request: Request,
) -> None:
    status = process.wait()
    for output in outputs:
        output.join(_DRAIN_S)
    request.answered.wait(_ANSWER_S)
    with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
        if status >= 0:
            channel.send_exit_status(status)
        else:
            _send_exit_signal(channel, -status)
    for output in outputs:
        output.join()
    with contextlib.suppress(OSError, EOFError, paramiko.SSHException):  # the client may have gone
        channel.close()


def _feed(channel: paramiko.Channel, descriptor: int, close: Callable[[], None]) -> None:
    """Carry the client's input to the command, in a thread."""

    def work() -> None:
        with contextlib.suppress(OSError, EOFError):
            while data := channel.recv(_CHUNK):
                view = memoryview(data)
                while view:
                    view = view[os.write(descriptor, view) :]
        with contextlib.suppress(OSError):
            close()

    threading.Thread(target=work, daemon=True).start()


def _carry(
    descriptor: int, channel: paramiko.Channel, send: Callable[[bytes], object], close: Callable[[], None]
) -> threading.Thread:
    """Carry one output of the command to the client, in a thread, until it ends or the client has gone."""

    def work() -> None:
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            while not channel.closed:
                if waiting.poll(_LOOK_S):
                    data = os.read(descriptor, _CHUNK)
                    if not data:
                        break
                    send(data)
        close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def _send_exit_signal(channel: paramiko.Channel, number: int) -> None:
    """RFC 4254, section 6.10; Paramiko's server side only knows exit statuses."""
    message = Message()
    message.add_byte(cMSG_CHANNEL_REQUEST)
    message.add_int(channel.remote_chanid)
    message.add_string("exit-signal")
    message.add_boolean(False)
    message.add_string(signal.Signals(number).name.removeprefix("SIG"))
    message.add_boolean(False)
    message.add_string("")
    message.add_string("")
    transport: Any = channel.get_transport()
    transport._send_user_message(message)  # noqa: SLF001 - there is no public way
