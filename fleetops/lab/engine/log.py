"""Log lines as SGLang 0.5.9 writes them: `[2026-11-29 12:00:00 TP0] ...` on standard error, one write each."""

import os
import time

STDOUT, STDERR = 1, 2


class Log:
    """The log of one process. `prefix` is the rank's, as configure_logger (utils/common.py:1216) adds it."""

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix

    def line(self, text: str, stream: int = STDERR) -> None:
        """One message with the time in front."""
        stamp = time.strftime("%Y-%m-%d %H:%M:%S")
        write(f"[{stamp}{self._prefix}] {text}\n", stream)

    def uvicorn(self, text: str, *, level: str = "INFO", stream: int = STDERR) -> None:
        """A message of the web server: same time, its own level, no rank."""
        write(f"[{time.strftime('%Y-%m-%d %H:%M:%S')}] {level + ':':<9} {text}\n", stream)


def write(text: str, stream: int = STDERR) -> None:
    """Text as it is, in one write, so that lines of several processes do not mix. A closed log is no error."""
    try:
        os.write(stream, text.encode())
    except OSError:
        return


def gib(size_bytes: float) -> str:
    """Bytes as SGLang prints device memory: GiB with two decimals (which it calls GB)."""
    return f"{size_bytes / 2**30:.2f} GB"
