"""Fixtures: hostile servers, and the real command line pointed at one."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_line import CommandLine
from hostile_server import Answer, HostileServer, inventory_for


@pytest.fixture
def serve() -> Iterator[Callable[..., HostileServer]]:
    """Starts hostile servers that end with the test."""
    servers: list[HostileServer] = []

    def start(answer: Answer, **options: object) -> HostileServer:
        servers.append(HostileServer(answer, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def against(serve: Callable[..., HostileServer], tmp_path: Path) -> Callable[[Answer], CommandLine]:
    """The command line whose one node, `node-1`, answers so."""

    def point(answer: Answer) -> CommandLine:
        return CommandLine(inventory_for(tmp_path, serve(answer)), tmp_path)

    return point
