"""parallel-ssh on a list of hosts: FILE USER PORT KEY WIDTH LINE. Prints `HOST OUTPUT` for each."""

import sys
from collections.abc import Sequence
from pathlib import Path

from pssh.clients import ParallelSSHClient


def main(words: Sequence[str]) -> None:
    """All hosts at once, by its own pool."""
    file, user, port, key, width, line = words
    hosts = Path(file).read_text().split()
    client = ParallelSSHClient(
        hosts, user=user, port=int(port), pkey=key, pool_size=int(width), num_retries=1
    )
    for output in client.run_command(line, stop_on_errors=False):
        for text in output.stdout or ():
            print(output.host, text)


if __name__ == "__main__":
    main(sys.argv[1:])
