"""The launcher: starts the ranks, waits for them, serves HTTP, and never reaps a rank that died (0.5.9 does not).

Order and messages follow entrypoints/engine.py (_launch_subprocesses) and entrypoints/http_server.py.
"""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn

from fleetops.lab.engine import detokenizer
from fleetops.lab.engine.channel import Channel, pair
from fleetops.lab.engine.http_server import Server, State
from fleetops.lab.engine.log import Log, write
from fleetops.lab.engine.rank import Rank
from fleetops.lab.engine.requests import Requests
from fleetops.lab.engine.scheduling import FAULTS
from fleetops.lab.engine.segments import Segments, python_name
from fleetops.lab.engine.service import Service
from fleetops.lab.engine.wiring import Wiring, wire

_DRAIN_S = 5.0
_END_S = 3.0


class Launcher:
    """The process that an operator starts."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._log = Log()
        self._children: list[int] = []
        self._readers: list[Channel] = []
        self._segments = Segments(service.places.shm)
        self._stop = threading.Event()

    def run(self) -> int:
        """Launch and serve; the answer is the exit status."""
        signal.signal(signal.SIGQUIT, lambda *_: self._child_failed(_LAUNCHING))
        shown = ", ".join(f"{name}={value!r}" for name, value in self._service.args.items())
        self._log.line(f"server_args=ServerArgs({shown})")
        self._segments.make(python_name(), 1)
        address = (self._service.args["host"], self._service.args["port"])
        wiring = wire(self._service.ranks, _bound(address))
        self._fork_all(wiring)
        if wiring.port:
            wiring.port.close()  # rank 0 has it now; the server binds anew when all ranks are ready
        found = self._wait_for_ranks()
        return self._serve(wiring, found, address) if found else 1

    def _fork_all(self, wiring: Wiring) -> None:
        for number in range(self._service.ranks):
            reader, writer = pair()
            rank = Rank(self._service, wiring, number)
            self._children.append(_fork(lambda rank=rank, writer=writer: rank.run(writer)))  # type: ignore[misc]
            writer.close()
            self._readers.append(reader)
        self._children.append(_fork(lambda: detokenizer.run(wiring)))

    def _wait_for_ranks(self) -> dict[str, Any] | None:
        """Each rank's word in turn, as engine.py:889 waits: one that never comes is waited for without end."""
        found = None
        for number, reader in enumerate(self._readers):
            try:
                message = reader.receive()
            except EOFError:
                self._log.line(f"Rank {number} scheduler is dead. Please check if there are relevant logs.")
                _, status = os.waitpid(self._children[number], 0)
                self._log.line(f"Exit code: {os.waitstatus_to_exitcode(status)}")
                write("Traceback (most recent call last):\nEOFError\n")
                self._kill_children()
                return None
            found = found or message
        return found

    def _serve(self, wiring: Wiring, found: dict[str, Any], address: tuple[str, int]) -> int:
        requests = Requests(wiring.requests[0], wiring.texts[1])
        state = State(self._service, requests, self._log, found)
        self._log.uvicorn(f"Started server process [{os.getpid()}]")
        self._log.uvicorn("Waiting for application startup.")
        self._log.uvicorn("Application startup complete.")
        try:
            server = Server(address, state)
        except OSError as error:
            place = f"on address {address}: {os.strerror(error.errno or 0).lower()}"
            self._log.uvicorn(f"[Errno {error.errno}] error while attempting to bind {place}", level="ERROR")
            self._kill_children()
            self._segments.unlink()
            return 1
        signal.signal(signal.SIGQUIT, lambda *_: self._child_failed(_RUNNING))
        signal.signal(signal.SIGTERM, lambda number, _: self._asked_to_stop(number, state))
        signal.signal(signal.SIGINT, lambda number, _: self._asked_to_stop(number, state))
        threading.Thread(target=requests.collect, daemon=True).start()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self._log.uvicorn(f"Uvicorn running on http://{address[0]}:{address[1]} (Press CTRL+C to quit)")
        threading.Thread(target=self._warm_up, args=(state,), daemon=True).start()
        self._stop.wait()
        self._drain(requests)
        self._end_children()
        self._segments.unlink()
        return 0

    def _warm_up(self, state: State) -> None:
        """http_server.py:1668: one real request, then ready."""
        time.sleep(0.2 * self._service.places.pace)
        if not self._service.args["skip_server_warmup"]:
            state.warm_up()
        state.up = True
        self._log.line("The server is fired up and ready to roll!")
        places = self._service.places
        if places.fault in FAULTS:
            self._stop.wait(places.fault_after_s)
            state.requests.strike(places.fault)

    def _asked_to_stop(self, number: int, state: State) -> None:
        self._log.line(
            f"SIGTERM received. signum={int(number)} frame=None. Draining requests and shutting down..."
        )
        state.stopping = True
        self._stop.set()

    def _drain(self, requests: Requests) -> None:
        """tokenizer_manager.py, sigterm_watchdog: as long as requests remain, without end."""
        while True:
            remaining = requests.pending()
            self._log.line(
                f"Gracefully exiting... Remaining number of requests {len(remaining)}. "
                f"Remaining requests remaining_rids={remaining}."
            )
            if not remaining:
                return
            time.sleep(_DRAIN_S * self._service.places.pace)

    def _child_failed(self, text: str) -> NoReturn:
        self._log.line(text)
        self._kill_children()
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("SIGKILL does not return")

    def _kill_children(self) -> None:
        for pid in self._children:
            _signal(pid, signal.SIGKILL)

    def _end_children(self) -> None:
        """A clean end: every process takes its segments away."""
        for pid in self._children:
            _signal(pid, signal.SIGTERM)
        deadline = time.monotonic() + _END_S
        left = set(self._children)
        while left and time.monotonic() < deadline:
            left = {pid for pid in left if not _reaped(pid)}
            time.sleep(0.02)
        for pid in left:
            _signal(pid, signal.SIGKILL)


_LAUNCHING = "Received sigquit from a child process. It usually means the child failed."
_RUNNING = f"SIGQUIT received. signum={int(signal.SIGQUIT)}, frame=None. It usually means one child failed."


def _bound(address: tuple[str, int]) -> socket.socket | None:
    """The port, bound but not listening; None where somebody listens on it already (which shows later)."""
    port = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        port.bind(address)
    except OSError:
        port.close()
        return None
    return port


def _fork(run: Callable[[], NoReturn]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            run()
        except EOFError:
            os._exit(1)
        finally:
            os._exit(1)
    return pid


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _reaped(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return True
