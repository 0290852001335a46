"""A service whose ranks are dead and not reaped: its memory is free, but the server hangs and keeps them as zombies."""

from pathlib import Path

from fleetops.lab.breakages.base import PORT, BrokenNode, ranks_of, zombies

NAME = "zombies"
SUMMARY = "all ranks killed under a launcher that does not reap them and hangs; GPU memory is free"

# One request that no rank will ever answer: the launcher waits for it also when it is asked to stop.
_ASK = f"""
import socket
body = b'{{"text": "still there?", "sampling_params": {{"max_new_tokens": 8}}}}'
head = b"POST /generate HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body)
socket.create_connection(("127.0.0.1", {PORT}), 5).sendall(head + body)
"""


def apply(folder: Path, node: str) -> None:
    """Kill every rank of a healthy service, and let the launcher wait for an answer."""
    broken = BrokenNode(folder, node)
    broken.clear()
    broken.start(["--enable-metrics"])
    broken.await_ready()
    broken.run("kill", "-KILL", *(str(each.pid) for each in ranks_of(broken.look())))
    broken.await_that(lambda: len(zombies(broken.look())) == broken.ranks, "the ranks did not die")
    broken.run("python3", "-c", _ASK)
