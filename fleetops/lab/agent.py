"""The QEMU guest agent: runs in a VM, and its hypervisor asks it to run commands there. Standard library only.

The real one speaks over a virtio port; this one over a socket in the VM's run folder, which its hypervisor sees too.
One JSON object goes each way, in the agent's own protocol (qemu-ga-ref): guest-ping, guest-exec, guest-exec-status,
guest-shutdown.
"""

import base64
import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fleetops.lab.engine.kernel import set_title
from fleetops.lab.spec import AGENT, RUN

_TIMEOUT_S = 3.0  # qga_check_running: guest-ping with a timeout of 3
_CHUNK = 65536
_TITLE = "/usr/sbin/qemu-ga"


class AgentError(Exception):
    """What the agent answers in place of a result."""


def main() -> int:
    """Serve for ever."""
    path = RUN / AGENT
    fresh = path.with_name(f".{AGENT}")
    fresh.unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(fresh))
    server.listen()
    fresh.rename(path)
    set_title(_TITLE)
    Path("/proc/self/comm").write_text("qemu-ga")
    agent = Agent()
    while True:
        connection, _ = server.accept()
        threading.Thread(target=_serve, args=(agent, connection), daemon=True).start()


def _serve(agent: "Agent", connection: socket.socket) -> None:
    with connection, contextlib.suppress(OSError):
        asked = json.loads(_read(connection))
        try:
            answer: dict[str, Any] = {"return": agent.answer(asked["execute"], asked.get("arguments", {}))}
        except (AgentError, OSError) as error:
            answer = {"error": {"class": "GenericError", "desc": str(error)}}
        connection.sendall(json.dumps(answer).encode())


class Agent:
    """The commands that it has started and not yet told the end of."""

    def __init__(self) -> None:
        self._running: dict[int, tuple[subprocess.Popen[bytes], list[bytes]]] = {}

    def answer(self, command: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """One command's result. Raises AgentError."""
        if command == "guest-ping":
            return {}
        if command == "guest-exec":
            return self._start(arguments)
        if command == "guest-exec-status":
            return self._status(arguments["pid"])
        if command == "guest-shutdown":
            os.kill(1, signal.SIGTERM)
            return {}
        raise AgentError(f"The command {command} has not been found")

    def _start(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        argv = [arguments["path"], *arguments.get("arg", [])]
        given = base64.b64decode(arguments.get("input-data", ""))
        pipe = subprocess.PIPE
        try:
            process = subprocess.Popen(
                argv, stdin=pipe, stdout=pipe, stderr=pipe, cwd="/", start_new_session=True
            )
        except OSError as error:
            raise AgentError(
                f"Failed to execute child process \u201c{argv[0]}\u201d ({error.strerror})"
            ) from None
        told: list[bytes] = []
        threading.Thread(target=lambda: told.extend(process.communicate(given)), daemon=True).start()
        self._running[process.pid] = (process, told)
        return {"pid": process.pid}

    def _status(self, pid: int) -> dict[str, Any]:
        if pid not in self._running:
            raise AgentError("Invalid parameter 'pid'")
        process, told = self._running[pid]
        if len(told) < 2 or process.returncode is None:
            return {"exited": False}
        del self._running[pid]
        end = {"exitcode": process.returncode} if process.returncode >= 0 else {"signal": -process.returncode}
        data = {"out-data": told[0], "err-data": told[1]}
        return {"exited": True, **end} | {
            key: base64.b64encode(text).decode() for key, text in data.items() if text
        }


def ask(folder: Path, command: str, arguments: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Ask the agent of the VM with that run folder. Raises OSError where none answers, AgentError with its refusal."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(_TIMEOUT_S)
        client.connect(str(folder / AGENT))
        client.sendall(json.dumps({"execute": command, "arguments": arguments or {}}).encode())
        client.shutdown(socket.SHUT_WR)
        answer: dict[str, Any] = json.loads(_read(client) or b'{"error": {"desc": "no answer"}}')
    if "error" in answer:
        raise AgentError(answer["error"]["desc"])
    result: dict[str, Any] = answer["return"]
    return result


def _read(connection: socket.socket) -> bytes:
    parts = []
    while data := connection.recv(_CHUNK):
        parts.append(data)
    return b"".join(parts)
