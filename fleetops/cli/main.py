"""The console script: it loads the program only once an interruption ends it quietly, so that even the first moment does."""

import sys

_INTERRUPTED = 130
"""`Exit.INTERRUPTED`, whose module is not loaded yet."""


def entry() -> None:
    """Run the command line of this process, and end it."""
    try:
        from fleetops.cli.program import start

        code = start()
    except KeyboardInterrupt:
        code = _INTERRUPTED
    import gc

    gc.freeze()  # the system takes everything back at once: nothing of it is worth looking through before that
    sys.exit(code)
