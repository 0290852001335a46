"""Where the stand-in starts, in place of `python3 -m sglang.launch_server`."""

import os
import sys

from fleetops.lab.engine import flags
from fleetops.lab.engine.errors import EngineError, traceback
from fleetops.lab.engine.launcher import Launcher
from fleetops.lab.engine.log import write
from fleetops.lab.engine.places import ordered_fault, places
from fleetops.lab.engine.service import prepare


def main(argv: list[str]) -> int:
    """Run a service with this command line; the answer is the exit status."""
    folder = flags.engine_folder()
    if folder is None:
        write("No module named sglang: the lab's node has no engine source\n")
        return 1
    declared = flags.declarations((folder / "srt" / "server_args.py").read_text())
    given = flags.parse(argv, declared)
    try:
        service = prepare(given, folder, places({**ordered_fault(), **os.environ}))
    except EngineError as error:
        write(traceback(error, folder))
        return 1
    return Launcher(service).run()


def run() -> None:
    """Run and leave at once: threads that still serve a client must not hold the process."""
    status = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(status)
