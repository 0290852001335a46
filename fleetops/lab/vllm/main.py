"""The API server: starts the engine core, opens the port once it is up, and ends with it (entrypoints/openai/).

Stands in for `vllm serve` and its modules.
"""

import os
import signal
import sys
import threading
import time
from typing import NoReturn

from fleetops.lab.engine.channel import pair
from fleetops.lab.engine.errors import EngineError
from fleetops.lab.engine.log import write
from fleetops.lab.engine.places import ordered_fault, places
from fleetops.lab.engine.requests import Requests
from fleetops.lab.engine.scheduling import FAULTS
from fleetops.lab.vllm import flags
from fleetops.lab.vllm.core import Core
from fleetops.lab.vllm.http_server import Server
from fleetops.lab.vllm.log import Log, uvicorn
from fleetops.lab.vllm.service import VERSION, Service, prepare

_END_S = 5.0
_DEAD = (
    "AsyncLLM output_handler failed.\nTraceback (most recent call last):\nvllm.v1.engine.exceptions.EngineDeadError: "
    "EngineCore encountered an issue. See stack trace (above) for the root cause."
)


class ApiServer:
    """The process that an operator starts."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._log = Log("APIServer")
        self._over = threading.Event()
        self._asked_to_stop = False

    def run(self) -> int:
        """Launch and serve; the answer is the exit status."""
        log, args = self._log, self._service.args
        log.line("api_utils.py:286", f"non-default args: {args['non_default']}")
        requests, texts, ready = pair(), pair(), pair()
        self._core = os.fork()
        if self._core == 0:
            for each in (requests[0], texts[1], ready[0]):
                each.close()
            Core(self._service, requests[1], texts[0], ready[1]).run()
        for each in (requests[1], texts[0], ready[1]):
            each.close()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop())
        try:
            ready[0].receive()
        except EOFError:
            os.waitpid(self._core, 0)
            text = "Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}"
            write(f"(APIServer pid={os.getpid()}) RuntimeError: {text}\n")
            return 1
        return self._serve(Requests(requests[0], texts[1]))

    def _serve(self, requests: Requests) -> int:
        args = self._service.args
        self._log.line("entry.py:140", f"Starting vLLM server on http://{args['host']}:{args['port']}")
        try:
            server = Server(self._service, requests)
        except OSError as error:
            write(f"(APIServer pid={os.getpid()}) OSError: [Errno {error.errno}] {error.strerror}\n")
            self._end_core()
            return 1
        uvicorn(f"Started server process [{os.getpid()}]")
        uvicorn("Waiting for application startup.")
        threading.Thread(target=requests.collect, daemon=True).start()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        uvicorn("Application startup complete.")
        threading.Thread(target=self._watch_core, args=(server,), daemon=True).start()
        threading.Thread(target=self._strike, args=(requests,), daemon=True).start()
        self._over.wait()
        uvicorn("Shutting down")
        self._end_core()
        uvicorn(f"Finished server process [{os.getpid()}]")
        return 0 if self._asked_to_stop else 1

    def _strike(self, requests: Requests) -> None:
        where = self._service.places
        if where.fault in FAULTS and not self._over.wait(where.fault_after_s):
            requests.strike(where.fault)

    def _watch_core(self, server: Server) -> None:
        os.waitid(os.P_PID, self._core, os.WEXITED | os.WNOWAIT)
        server.dead = True
        if not self._asked_to_stop:
            self._log.fails("async_llm.py:906", _DEAD)
        self._over.set()

    def _stop(self) -> None:
        self._asked_to_stop = True
        self._over.set()

    def _end_core(self) -> None:
        """SIGTERM, then SIGKILL; the workers go with it."""
        deadline = time.monotonic() + _END_S
        try:
            os.kill(self._core, signal.SIGTERM)
            while not os.waitpid(self._core, os.WNOHANG)[0]:
                if time.monotonic() > deadline:
                    os.kill(self._core, signal.SIGKILL)
                time.sleep(0.02)
        except (ProcessLookupError, ChildProcessError):
            return


def main(argv: list[str]) -> int:
    """Run a service with this command line; the answer is the exit status."""
    given = flags.parse(argv)
    log = Log("APIServer")
    log.line("api_utils.py:347", f"  version {VERSION}   model   {given['model']}")
    try:
        service = prepare(given, places({**ordered_fault(), **os.environ}))
    except EngineError as error:
        write(f"(APIServer pid={os.getpid()}) {error.kind}: {error.text}\n")
        return 1
    return ApiServer(service).run()


def run(argv: list[str] | None = None) -> NoReturn:
    """Run and leave at once: threads that still serve a client must not hold the process."""
    status = main(sys.argv[1:] if argv is None else argv)
    sys.stdout.flush()
    os._exit(status)
