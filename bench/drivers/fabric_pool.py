"""Fabric on a list of hosts: HOW FILE USER PORT KEY WIDTH LINE. Prints `HOST OUTPUT` for each.

HOW is `pool` (a Connection for each host in a pool of threads), `group` (a ThreadingGroup), or `warm`: the connections
stay, and every line on standard input runs the command over them once more.
"""

import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fabric import Connection, ThreadingGroup

from bench.drivers.rounds import answer_rounds


def run(connection: Connection, line: str) -> str:
    """Fabric's own way; nothing of the caller's terminal is mirrored."""
    return str(connection.run(line, hide=True, in_stream=False).stdout).strip()


def main(words: Sequence[str]) -> None:
    """As HOW says."""
    how, file, user, port, key, width, line = words
    hosts = Path(file).read_text().split()
    login = {"user": user, "port": int(port), "connect_kwargs": {"key_filename": key}}
    if how == "group":
        group = ThreadingGroup(*hosts, **login)
        for connection, result in group.run(line, hide=True, in_stream=False).items():
            print(connection.host, result.stdout.strip())
        return
    connections = [Connection(host, **login) for host in hosts]
    with ThreadPoolExecutor(int(width)) as pool:

        def once() -> Sequence[str]:
            return list(pool.map(run, connections, [line] * len(connections)))

        if how == "warm":
            answer_rounds(once)
        else:
            for connection, text in zip(connections, once(), strict=True):
                print(connection.host, text)


if __name__ == "__main__":
    main(sys.argv[1:])
