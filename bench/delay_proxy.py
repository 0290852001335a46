"""TCP at a distance: relays every connection with the delay of a round trip, one process for all addresses.

    python -m bench.delay_proxy < one line of JSON: [[address, port, target address, target port, round trip s], ...]

Says `listening` once it does, and ends with its standard input, so it never outlives whoever started it. A connection
costs its own round trip first: the kernel accepts at once here, while a distant host's answer takes one.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, NamedTuple, cast

from bench.errors import DidNotStart
from bench.fleet import ROOT

_CHUNK_BYTES = 65_536
_CHUNKS_ON_THE_WAY = 256  # 16 MiB: a fast line's worth, and a bound on memory


class Line(NamedTuple):
    """One address to listen on, and where it leads."""

    address: str
    port: int
    target: str
    target_port: int
    round_trip_s: float


async def relay(lines: Sequence[Line], *, until: "asyncio.Event", ready: "asyncio.Event") -> None:
    """Serve all lines until the event."""
    servers = [
        await asyncio.start_server(_served(line), line.address, line.port, backlog=512) for line in lines
    ]
    ready.set()
    try:
        await until.wait()
    finally:
        for server in servers:
            server.close()


def _served(line: Line) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def serve(near: asyncio.StreamReader, near_out: asyncio.StreamWriter) -> None:
        await asyncio.sleep(line.round_trip_s)
        try:
            far, far_out = await asyncio.open_connection(line.target, line.target_port)
        except OSError:
            near_out.close()
            return
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(_carry(near, far_out, line.round_trip_s / 2))
                both.create_task(_carry(far, near_out, line.round_trip_s / 2))
        except* OSError:
            pass  # one end hung up: the other hears of it below
        finally:
            far_out.close()
            near_out.close()

    return serve


async def _carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter, one_way_s: float) -> None:
    """Everything in order, each piece so much later; the end of the stream travels like a piece."""
    now = asyncio.get_running_loop().time
    on_the_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_CHUNKS_ON_THE_WAY)

    async def take() -> None:
        chunk = b"-"
        while chunk:
            chunk = await source.read(_CHUNK_BYTES)
            await on_the_way.put((now() + one_way_s, chunk))

    async def give() -> None:
        while True:
            due, chunk = await on_the_way.get()
            await asyncio.sleep(due - now())
            if not chunk:
                sink.write_eof()
                return
            sink.write(chunk)
            await sink.drain()

    async with asyncio.TaskGroup() as both:
        both.create_task(take())
        both.create_task(give())


@contextmanager
def proxied(lines: Sequence[Line]) -> Iterator[int]:
    """The proxy in a process of its own, ended with the block; its pid. Raises DidNotStart."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.delay_proxy"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    with process:
        stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        try:
            stdin.write(json.dumps(lines).encode() + b"\n")
            stdin.flush()
            if stdout.readline() != b"listening\n":
                raise DidNotStart("the delay proxy did not start")
            yield process.pid
        finally:
            process.kill()


async def _until_stdin_ends(lines: Sequence[Line]) -> None:
    over, ready = asyncio.Event(), asyncio.Event()
    asyncio.get_running_loop().add_reader(0, over.set)
    serving = asyncio.create_task(relay(lines, until=over, ready=ready))
    waiting = asyncio.create_task(ready.wait())
    await asyncio.wait([serving, waiting], return_when=asyncio.FIRST_COMPLETED)
    if ready.is_set():
        print("listening", flush=True)
    await serving


if __name__ == "__main__":
    asyncio.run(_until_stdin_ends([Line(*line) for line in json.loads(sys.stdin.readline())]))
