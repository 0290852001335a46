"""The agent in a machine that stands for a VM: it runs there what its hypervisor asks for, over a channel that both have.

One line of JSON each way. `guest-ping` is answered with nothing; `guest-exec` with what came of `argv` within `limit_s`
seconds, or with its pid alone.
"""

import json
import socket
import subprocess
import threading
from pathlib import Path

CHANNEL = Path("/run/deep/agent")


def answer(asked: dict) -> dict:
    if asked["execute"] == "guest-ping":
        return {}
    pipe = subprocess.PIPE
    ran = subprocess.Popen(asked["argv"], stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, text=True)
    try:
        out, err = ran.communicate(timeout=asked["limit_s"])
    except subprocess.TimeoutExpired:
        return {"pid": ran.pid}
    said = {"out-data": out, "err-data": err}
    return {"exited": 1, "exitcode": ran.returncode} | {key: text for key, text in said.items() if text}


def serve(client: socket.socket) -> None:
    with client:
        client.sendall(json.dumps(answer(json.loads(client.makefile().readline()))).encode() + b"\n")


CHANNEL.unlink(missing_ok=True)
server = socket.socket(socket.AF_UNIX)
server.bind(str(CHANNEL))
CHANNEL.chmod(0o600)
server.listen()
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
