"""A command whose connection has gone: what it prints goes nowhere, as from a shell that sshd has left behind."""

import os
import subprocess
from collections.abc import Sequence


def unheard(argv: Sequence[str]) -> int:
    """Run it with both outputs broken; its exit status, negative after a signal."""
    ends = [os.pipe() for _ in range(2)]
    for read, _ in ends:
        os.close(read)
    (_, out), (_, err) = ends
    try:
        return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, check=False).returncode
    finally:
        os.close(out)
        os.close(err)
