"""An SSH server on loopback that lets anybody in, notes all that it was told, and answers as it likes."""

import contextlib
import re
import shlex
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import paramiko
from paramiko.common import AUTH_SUCCESSFUL, OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED, OPEN_SUCCEEDED

ADDRESS = "127.0.0.1"
_TAKEN_S = 0.05
_NONCE = re.compile(r"\b[0-9a-f]{32}\b")


@dataclass(frozen=True)
class Call:
    """One command line that came, and the channel to answer on."""

    channel: paramiko.Channel
    line: str

    @property
    def nonce(self) -> bytes:
        """The word of its markers."""
        found = _NONCE.search(self.line)
        assert found, self.line
        return found[0].encode()

    @property
    def is_batch(self) -> bool:
        """Whether a script follows on its standard input."""
        return "exec sh'" in self.line

    def begin(self) -> None:
        """Print the start markers, as every call does."""
        self.channel.sendall(self.nonce + b":1\n")
        self.channel.sendall_stderr(self.nonce + b":\n")

    def end(self, status: int = 0) -> None:
        """Say how it ended, and hang up."""
        with contextlib.suppress(OSError, EOFError):
            self.channel.send_exit_status(status)
        self.channel.close()

    def script(self) -> bytes:
        """The whole of a batch's script."""
        pieces = []
        while piece := self.channel.recv(1 << 16):
            pieces.append(piece)
        return b"".join(pieces)


Answer = Callable[[Call], None]


class _Everyone(paramiko.ServerInterface):
    def __init__(self, server: "HostileServer") -> None:
        self._server = server

    def get_allowed_auths(self, username: str) -> str:
        self._server.told.append(f"auths {username}")
        return "publickey,password,keyboard-interactive"

    def check_auth_none(self, username: str) -> int:
        self._server.told.append(f"none {username}")
        return AUTH_SUCCESSFUL

    def check_auth_password(self, username: str, password: str) -> int:
        self._server.told.append(f"password {username} {password}")
        return AUTH_SUCCESSFUL

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        self._server.told.append(f"key {username}")
        return AUTH_SUCCESSFUL

    def check_channel_request(self, kind: str, chanid: int) -> int:
        self._server.told.append(f"channel {kind}")
        return OPEN_SUCCEEDED if kind == "session" else OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        line = command.decode("utf-8", "surrogateescape")
        self._server.told.append(f"exec {line}")
        call = Call(channel, line)
        # Paramiko tells the client that its command was taken only once this has returned.
        timer = threading.Timer(_TAKEN_S, self._server.answer_to, args=(call,))
        timer.daemon = True
        timer.start()
        return True


@dataclass
class HostileServer:
    """Listens until `close`; `told` is all that clients have said beyond the key exchange."""

    answer: Answer
    key: paramiko.PKey = field(default_factory=paramiko.ECDSAKey.generate)
    told: list[str] = field(default_factory=list)
    met: int = 0
    port: int = 0
    _listener: socket.socket = field(init=False, repr=False)
    _transports: list[paramiko.Transport] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        self._listener = socket.create_server((ADDRESS, self.port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def record(self) -> str:
        """Its line of known_hosts."""
        return f"[{ADDRESS}]:{self.port} {self.key.get_name()} {self.key.get_base64()}\n"

    def close(self) -> None:
        """Hang up on everyone and free the port."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for transport in self._transports:
            transport.close()

    def answer_to(self, call: Call) -> None:
        """Answer one call; a client that has gone meanwhile is none of its business."""
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            self.answer(call)

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.met += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        transport = paramiko.Transport(connection)
        transport.add_server_key(self.key)
        self._transports.append(transport)
        with contextlib.suppress(paramiko.SSHException, EOFError, OSError):
            transport.start_server(server=_Everyone(self))
        held = []
        while transport.is_active():
            if channel := transport.accept(0.2):
                held.append(channel)


def talks_for_ever(piece: bytes, *, begins: bool = True, stderr: bool = False) -> Answer:
    """Whatever is asked, the same again and again."""

    def answer(call: Call) -> None:
        if begins:
            call.begin()
        send = call.channel.sendall_stderr if stderr else call.channel.sendall
        while not call.channel.closed:
            send(piece)

    return answer


def says(stdout: bytes, stderr: bytes = b"", status: int = 0) -> Answer:
    """Whatever single command is asked, this; in a batch, to every part."""

    def answer(call: Call) -> None:
        parts = call.script().count(b"\nmark\n") if call.is_batch else 0
        call.begin()
        both = ((stdout, call.channel.sendall), (stderr, call.channel.sendall_stderr))
        for _ in range(max(parts, 1)):
            for text, send in both:
                send(text)
                if parts:
                    send(call.nonce + f":{status}\n".encode())
        call.end(status)

    return answer


def truly_but(poison: Callable[[bytes], bytes]) -> Answer:
    """Runs what is asked on this machine, reads only, and answers with what came of it, poisoned."""

    def answer(call: Call) -> None:
        words = shlex.split(call.line)
        done = subprocess.run(
            words[words.index("exec") + 1 :],
            input=call.script() if call.is_batch else b"",
            capture_output=True,
            timeout=60,
            check=False,
        )
        for text, send in ((done.stdout, call.channel.sendall), (done.stderr, call.channel.sendall_stderr)):
            send(_between_markers(text, call.nonce, poison))
        call.end(done.returncode)

    return answer


def _between_markers(text: bytes, nonce: bytes, poison: Callable[[bytes], bytes]) -> bytes:
    marker = re.compile(b"(" + nonce + rb":[0-9]*\n)")
    pieces = marker.split(text)
    return b"".join(piece if marker.fullmatch(piece) else poison(piece) for piece in pieces)


def inventory_for(folder: Path, server: HostileServer, *, engine: str = "sglang") -> Path:
    """An inventory whose one node is this server, its key on record."""
    inventory = folder / "inventory"
    inventory.mkdir(exist_ok=True)
    (inventory / "known_hosts").write_text(server.record)
    key = inventory / "id"
    if not key.exists():
        paramiko.ECDSAKey.generate().write_private_key_file(str(key))
    (inventory / "ssh_config").write_text(f"Host *\n  IdentityFile {key}\n  IdentitiesOnly yes\n")
    (inventory / "fleet.yaml").write_text(
        f"nodes:\n  node-1: {{address: {ADDRESS}, port: {server.port}, user: root, engine: {engine}}}\n"
        "settings: {ssh-config: ssh_config, known-hosts: known_hosts, state: state}\n"
    )
    return inventory


def await_told(server: HostileServer, what: str, limit_s: float = 10.0) -> None:
    """Wait until somebody has said something that begins so."""
    until = time.monotonic() + limit_s
    while not any(said.startswith(what) for said in server.told):
        assert time.monotonic() < until, server.told
        time.sleep(0.02)
