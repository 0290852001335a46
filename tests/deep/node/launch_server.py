"""A server that looks like SGLang's to the kernel: a launcher and two ranks, with real memory, files, port and segments.

It runs on a node as `python3 /opt/sglang/launch_server.py --tp 2 --port 30000`, or as the module sglang.launch_server. It
answers /health, and /generate with as many tokens as are asked for. $DEEP_FAULT says what goes wrong:
`hang` (the launcher reaps nobody and heeds no TERM), `stubborn` (the ranks heed no TERM), `ghost` (rank 0's main thread
ends, and its other one lives on with the port), `stuck` (rank 1 waits in the kernel for a file on /mnt/stuck).
$DEEP_MB: megabytes that each rank takes and registers (locks). On SIGUSR1 a rank takes ever more, $DEEP_RATE megabytes a
second.
"""

import ctypes
import mmap
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)
FAULT = os.environ.get("DEEP_FAULT", "")
SIZE = int(os.environ.get("DEEP_MB", "8")) * 10**6
RANK_SEGMENT = 2 * 10**6
PR_SET_NAME, SYS_EXIT, IPC_CREAT = 15, 60, 0o1000


def take(size: int) -> mmap.mmap:
    """Real pages, of its own."""
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE)


def grow(*_: object) -> None:
    """Take memory at a steady rate, in steps of about a millisecond, and never give it back."""
    rate = float(os.environ["DEEP_RATE"]) * 10**6
    step = max(4096, int(rate / 1000) // 4096 * 4096)
    kept, begun = [], time.monotonic()
    while True:
        kept.append(take(step))
        time.sleep(max(0.0, begun + len(kept) * step / rate - time.monotonic()))


def checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def hold(number: int) -> list[object]:
    """What a rank takes: locked memory, the GPUs' files, a POSIX segment and a SysV one."""
    memory = take(SIZE)
    checked(
        libc.mlock(
            ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory))), ctypes.c_size_t(SIZE)
        )
    )
    files = [os.open(f"/dev/nvidia{each}", os.O_RDWR) for each in (0, 1)]
    Path(f"/dev/shm/sgl_shm_kv_{os.getpid()}_0badcafe").write_bytes(bytes(RANK_SEGMENT))
    Path(f"/dev/shm/psm_{number}feedbee").write_bytes(bytes(RANK_SEGMENT))
    checked(libc.shmget(0x5600 + number, RANK_SEGMENT, IPC_CREAT | 0o600))
    return [memory, *files]


def rank(number: int, ready: int, port: socket.socket) -> None:
    """Become a rank: its argv is its title, as setproctitle leaves it."""
    os.set_inheritable(ready, True)
    os.set_inheritable(port.fileno(), True)
    words = [f"sglang::scheduler_TP{number}", __file__, "rank", str(number), str(ready), str(port.fileno())]
    os.execv("/usr/bin/python3", words)


def serve_as_rank(number: int, ready: int, port: int) -> None:
    checked(libc.prctl(PR_SET_NAME, f"sglang::scheduler_TP{number}".encode(), 0, 0, 0))
    if FAULT == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGUSR1, grow)
    kept = hold(number)
    if number != 0:
        os.close(port)  # rank 0 has it too, as a forked child that closed nothing does
    if FAULT == "ghost" and number == 0:
        threading.Thread(target=threading.Event().wait, args=()).start()
        os.write(ready, b".")
        libc.syscall(SYS_EXIT, 0)
    os.write(ready, b".")
    if FAULT == "stuck" and number == 1:
        Path("/mnt/stuck/file").stat()
    while kept:
        signal.pause()


def launch() -> None:
    """Start the ranks, say on standard output that they are there, and answer on the port."""
    port = socket.create_server(("0.0.0.0", int(sys.argv[sys.argv.index("--port") + 1])))
    readable, ready = os.pipe()
    for number in range(2):
        if os.fork() == 0:
            os.close(readable)
            rank(number, ready, port)
    if FAULT == "hang":
        signal.signal(signal.SIGTERM, lambda *_: threading.Event().wait())
    for _ in range(2):
        os.read(readable, 1)
    print("The server is fired up and ready to roll!", flush=True)
    while True:
        connection, _ = port.accept()
        with connection:
            answer(connection)


def answer(connection: socket.socket) -> None:
    """As a healthy server answers. By hand: what a library for it takes would be counted as the server's memory."""
    told = b""
    while b"\r\n\r\n" not in told:
        told += (more := connection.recv(4096))
        if not more:
            return
    head, _, body = told.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or b"0")
    while len(body) < length and (more := connection.recv(4096)):
        body += more
    tokens = body.partition(b'"max_new_tokens": ')[2].partition(b",")[0]
    generated = b'{"text": " two,", "meta_info": {"completion_tokens": %b}}' % tokens
    answers = {b"GET /health": b"", b"POST /generate": generated}
    asked = b" ".join(head.split(b" ", 2)[:2])
    status = b"200 OK" if asked in answers else b"404 Not Found"
    text = answers.get(asked, b"")
    connection.sendall(b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n%b" % (status, len(text), text))


if __name__ == "__main__":
    if "rank" in sys.argv[1:2]:
        serve_as_rank(*map(int, sys.argv[2:5]))
    else:
        launch()
