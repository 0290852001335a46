"""The delay proxy hands on every byte in order, both ways; when, is not asked here."""

import asyncio
import socket

from bench.delay_proxy import Line, proxied, relay

DATA = bytes(range(256)) * 4096  # 1 MiB: many pieces
ADDRESS = "127.0.0.1"


def free_port():
    with socket.socket() as tried:
        tried.bind((ADDRESS, 0))
        return tried.getsockname()[1]


async def through(serve, ask):
    """`ask` talks through the proxy to `serve`."""
    server = await asyncio.start_server(serve, ADDRESS, 0)
    target, port = server.sockets[0].getsockname()[1], free_port()
    over, ready = asyncio.Event(), asyncio.Event()
    proxy = asyncio.create_task(relay([Line(ADDRESS, port, ADDRESS, target, 0.002)], until=over, ready=ready))
    await ready.wait()
    reader, writer = await asyncio.open_connection(ADDRESS, port)
    try:
        return await ask(reader, writer)
    finally:
        writer.close()
        over.set()
        await proxy
        server.close()


def test_bytes_pass_unharmed_both_ways():
    async def echo(reader, writer):
        writer.write(await reader.read(-1))
        writer.close()

    async def ask(reader, writer):
        writer.write(DATA)
        writer.write_eof()
        return await reader.read(-1)

    assert asyncio.run(through(echo, ask)) == DATA


def test_a_server_speaks_first():
    async def greet(_, writer):
        writer.write(b"SSH-2.0-test\r\n")
        writer.close()

    async def ask(reader, _):
        return await reader.readline()

    assert asyncio.run(through(greet, ask)) == b"SSH-2.0-test\r\n"


def test_a_connection_to_nobody_is_closed():
    async def ask():
        port, over, ready = free_port(), asyncio.Event(), asyncio.Event()
        line = Line(ADDRESS, port, ADDRESS, free_port(), 0.0)
        proxy = asyncio.create_task(relay([line], until=over, ready=ready))
        await ready.wait()
        reader, writer = await asyncio.open_connection(ADDRESS, port)
        said = await reader.read(-1)
        writer.close()
        over.set()
        await proxy
        return said

    assert asyncio.run(ask()) == b""


def test_it_serves_from_a_process_of_its_own_and_ends_with_the_block():
    port = free_port()
    with socket.create_server((ADDRESS, 0)) as server:
        line = Line(ADDRESS, port, ADDRESS, server.getsockname()[1], 0.001)
        with proxied([line]), socket.create_connection((ADDRESS, port)) as near:
            far, _ = server.accept()
            with far:
                near.sendall(b"hello")
                far.settimeout(20)
                assert far.recv(5) == b"hello"
    with socket.socket() as again:
        assert again.connect_ex((ADDRESS, port)) != 0
