"""How a host's init answers what its stand-in commands ask (`fleetops.lab.tools.ask`). Standard library only.

Only questions are answered: whatever changes something, waits, or hangs is done by the command's own process, which can be
seen, waited for and ended as the real one.
"""

import contextlib
import importlib
import io
import marshal
import socket
import threading
from collections.abc import Callable
from pathlib import Path

from fleetops.lab.tools.ask import SOCKET

_ANSWERED_BY = {
    "dmesg": "dmesg.main",
    "lxc-info": "lxc_info.main",
    "nvidia-smi": "nvidia_smi.tell",
    "pct": "pct.main",
    "pvesh": "pvesh.main",
    "pveversion": "pveversion.main",
    "qm": "qm.main",
}
_GUEST_QUESTIONS = frozenset({"list", "status", "config", "pending"})
_PATIENCE_S = 1.0
_CHUNK = 65536
_QUEUE = 128


def start_answering() -> None:
    """Answer from now on, one question at a time, in a thread."""
    path = Path(SOCKET)
    fresh = path.with_name(f".{path.name}")
    fresh.unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(fresh))
    server.listen(_QUEUE)
    fresh.rename(path)
    threading.Thread(target=_serve, args=(server,), daemon=True).start()


def _serve(server: socket.socket) -> None:
    while True:
        asking, _ = server.accept()
        # Who is given no answer sees for itself, and tells what is wrong as a command does.
        with asking, contextlib.suppress(Exception):
            asking.settimeout(_PATIENCE_S)
            asking.sendall(answer(*marshal.loads(_read(asking))))  # noqa: S302 - of this host's own commands


def _read(connection: socket.socket) -> bytes:
    parts = []
    while part := connection.recv(_CHUNK):
        parts.append(part)
    return b"".join(parts)


def answer(tool: str, words: list[str]) -> bytes:
    """Exit status, output and complaint of a command line, marshalled; nothing where it is more than a question."""
    module, _, name = _ANSWERED_BY.get(tool, "").partition(".")
    if not module or (tool in {"pct", "qm"} and not _GUEST_QUESTIONS & set(words[:1])):
        return b""
    loaded = importlib.import_module(f"fleetops.lab.tools.{module}")
    if tool == "nvidia-smi" and not loaded.only_asks(words):
        return b""
    tell: Callable[[list[str]], int] = getattr(loaded, name)
    output, complaint = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(complaint):
        status = tell(words)
    return marshal.dumps((status, output.getvalue(), complaint.getvalue()))
