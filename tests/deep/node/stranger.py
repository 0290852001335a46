"""Somebody else's program on the node: it maps shared memory of a kind that the engine makes too, and stays."""

import mmap
import signal
from pathlib import Path

with Path("/dev/shm/psm_stranger").open("w+b") as file:
    file.truncate(4096)
    memory = mmap.mmap(file.fileno(), 4096)
print("mapped", flush=True)
signal.pause()
