"""This machine as a host: commands meant for a node run here, by a real `sh`."""

import subprocess
from collections.abc import Callable, Sequence

from fleetops.model.command import Command, Outcome
from fleetops.model.session import Answer


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
