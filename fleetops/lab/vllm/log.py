"""Log lines as vLLM 0.32.0 writes them: `(EngineCore pid=9625) INFO 11-29 19:17:24 [core.py:402] ...`, one write each."""

import os
import time

from fleetops.lab.engine.log import write


class Log:
    """The log of one process, `name` as decorate_logs puts it in front of every line."""

    def __init__(self, name: str) -> None:
        self._name = name

    def line(self, where: str, text: str, level: str = "INFO") -> None:
        """One message; `where` is the file and line that logs it. Further lines of the text get the same front."""
        front = f"({self._name} pid={os.getpid()}) {level} {time.strftime('%m-%d %H:%M:%S')} [{where}] "
        write("".join(f"{front}{line}\n" for line in text.splitlines()))

    def fails(self, where: str, text: str) -> None:
        """What ends it."""
        self.line(where, text, "ERROR")


def uvicorn(text: str) -> None:
    """The web server's own lines bear nothing."""
    write(f"{'INFO:':<9} {text}\n")
