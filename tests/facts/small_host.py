"""Runs inside its own namespaces as the first process of a small host: starts real processes and runs commands.

Requests come as JSON lines on standard input, answers go as JSON lines to standard output. It never waits for what
it started, so what dies there stays a zombie until the host ends. `/dev` is its own: a few plain device nodes, empty
`/dev/shm`, and files in place of NVIDIA devices.
"""

import ctypes
import fcntl
import json
import mmap
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_NAME = 15
CLONE_NEWPID = 0x20000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 0x1
IPC_PRIVATE, IPC_CREAT = 0, 0o1000


def main():
    make_dev()
    answer({"ready": True})
    for line in sys.stdin:
        request = json.loads(line)
        answer(DOINGS[request.pop("do")](**request))


def answer(value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def make_dev():
    old = Path("/mnt")
    run("mount", "-t", "tmpfs", "tmpfs", str(old))
    Path("/mnt/dev").mkdir()
    run("mount", "--rbind", "/dev", "/mnt/dev")
    run("mount", "-t", "tmpfs", "tmpfs", "/dev")
    for name in ("null", "zero", "urandom"):
        Path("/dev", name).touch()
        run("mount", "--bind", f"/mnt/dev/{name}", f"/dev/{name}")
    Path("/dev/shm").mkdir()
    run("mount", "-t", "tmpfs", "tmpfs", "/dev/shm")
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"):
        Path("/dev", name).touch()
    bring_loopback_up()


def bring_loopback_up():
    """What `ip link set lo up` does, on a machine that has no iproute2 (netdevice(7))."""
    with socket.socket() as any_socket:
        flags = struct.pack("16sh14x", b"lo", IFF_UP)
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, flags)


def run(*argv, check=True):
    subprocess.run(argv, check=check, stdin=subprocess.DEVNULL, capture_output=True)


def command(argv, environment):
    done = subprocess.run(
        argv, capture_output=True, check=False, stdin=subprocess.DEVNULL, env=dict(os.environ) | environment
    )
    return {
        "status": done.returncode,
        "stdout": done.stdout.decode("utf-8", "surrogateescape"),
        "stderr": done.stderr.decode("utf-8", "surrogateescape"),
    }


def start(name, wait=True, **options):
    """A process that has come to where its scene wants it, and stays there."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        os.setsid()
        for other in (signal.SIGINT, signal.SIGTERM):
            signal.signal(other, signal.SIG_DFL)
        try:
            SCENES[name](lambda *said: os.write(writer, json.dumps(said).encode() + b"\n"), **options)
        finally:
            os._exit(1)
    os.close(writer)
    if not wait:
        os.close(reader)
        return {"pid": pid, "said": None}
    with os.fdopen(reader) as lines:
        said = json.loads(lines.readline() or "null")
    return {"pid": pid, "said": said}


def set_name(name):
    LIBC.prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


def forever():
    signal.pause()


def idle(ready, comm="idle"):
    set_name(comm)
    ready()
    forever()


def program(_, argv=(), environment=None):
    """Another program, with exactly these arguments; it must stay by itself. Starting it closes the pipe: ready."""
    os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
    os.execvpe(argv[0], argv, dict(os.environ) | (environment or {}))


def zombie(ready, comm="zombie"):
    set_name(comm)
    ready()
    os._exit(0)


def listener(ready, address="127.0.0.1", port=0):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    server = socket.socket(family)
    server.bind((address, port))
    server.listen()
    ready(server.getsockname()[1])
    forever()


def holder(ready, paths=()):
    files = [os.open(path, os.O_RDWR | os.O_CREAT) for path in paths]
    ready(len(files))
    forever()


def mapper(ready, path=""):
    """Maps a file of /dev/shm and closes it: only its memory map shows it."""
    mapped = map_file(path)
    ready(len(mapped))
    forever()


def map_file(path, size=8192):
    with Path(path).open("w+b") as file:
        file.truncate(size)
        return mmap.mmap(file.fileno(), size)


def sysv(ready):
    LIBC.shmat.restype = ctypes.c_void_p
    number = LIBC.shmget(IPC_PRIVATE, ctypes.c_size_t(4096), IPC_CREAT | 0o600)
    LIBC.shmat(number, None, 0)
    ready(number)
    forever()


def stuck(_, fifo="/dev/stuck", comm="stuck"):
    """In state D: the parent of a vfork waits until its child execs, and that waits for a writer of a FIFO."""
    set_name(comm)
    os.mkfifo(fifo)
    os.posix_spawn("/bin/true", ["true"], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 0, fifo, os.O_RDONLY, 0)])


def unowned(ready, port=0):
    """A port that listens and that no descriptor shows: the socket is under way in a message that nobody reads."""
    server = socket.socket()
    server.bind(("127.0.0.1", port))
    server.listen()
    one, other = socket.socketpair()
    socket.send_fds(one, [b"x"], [server.fileno()])
    said = server.getsockname()[1]
    server.close()
    ready(said, other.fileno())
    forever()


def container(ready, paths=(), comm="python3", depth=1):
    """The first process of a pid namespace of its own, whose pid it says; `depth` 2: one more inside that one.

    In the innermost lives a process that holds these files.
    """
    LIBC.unshare(CLONE_NEWPID)
    child = os.fork()
    if child:
        ready(child)
        forever()
    if depth > 1:
        container(lambda *_: None, paths, comm, depth - 1)
    if os.fork() == 0:
        set_name(comm)
        holder(lambda *_: None, paths)
    forever()


def ghost(ready, comm="ghost", size_bytes=32 << 20, shm="", port=0):
    """A leader that exits while a thread goes on: the thread holds a port, device files and shared memory."""
    set_name(comm)
    server = socket.socket()
    server.bind(("127.0.0.1", port))
    server.listen()
    device = os.open("/dev/nvidia0", os.O_RDWR)
    mapped = map_file(shm) if shm else None
    memory = bytearray(b"x") * size_bytes
    thread = threading.Thread(target=threading.Event().wait, args=(None,))
    thread.start()
    ready(server.getsockname()[1], thread.native_id, device, bool(mapped), len(memory))
    LIBC.pthread_exit(None)


DOINGS = {"run": command, "start": start}
SCENES = {
    one.__name__: one
    for one in (idle, program, zombie, listener, holder, mapper, sysv, stuck, unowned, container, ghost)
}

if __name__ == "__main__":
    main()
