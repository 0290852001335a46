"""This machine as a host: commands meant for a node run here, by a real `sh`."""

import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from fleetops.model.command import Command, Outcome
from fleetops.model.session import Answer, Streaming
from fleetops.ssh import http


class LocalSession:
    """Runs argvs as subprocesses and keeps what was run."""

    def __init__(self, host: str = "node-174") -> None:
        self.host = host
        self.ran: list[Command] = []

    def run(self, command: Command, on_output: Callable[[str], None] | None = None) -> Outcome:
        self.ran.append(command)
        done = subprocess.run(
            command.argv,
            input=command.stdin,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=command.deadline_s,
            check=False,
        )
        return Outcome(status=done.returncode, stdout=done.stdout, stderr=done.stderr)

    def batch(self, commands: Sequence[Command]) -> list[Outcome]:
        return [self.run(command) for command in commands]

    def request(
        self, port: int, method: str, path: str, body: bytes | None = None, *, deadline_s: float = 10.0
    ) -> Answer:
        raise ConnectionRefusedError

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
        plain = socket.create_connection(("127.0.0.1", port), timeout=deadline_s)
        with http.stream(plain, method, path, body, deadline_s=deadline_s, headers=headers) as answer:
            yield answer
