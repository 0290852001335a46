"""Ctrl-C on `fleetops run`: what it started on the hosts is ended, and where that cannot be seen, it says so."""

import contextlib
import getpass
import os
import signal
import time

import pytest
from command_line import CommandLine
from ssh_site import ADDRESS, await_gone, descendants, free_port, node, running

from fleetops.fleet.run import Unheard, run_on_hosts
from fleetops.model.command import Command


@pytest.fixture
def fleet(site):
    servers, user = [site.serve() for _ in range(2)], getpass.getuser()
    nodes = "".join(
        f"  node-{number}: {{address: {ADDRESS}, port: {server.port}, user: {user}}}\n"
        for number, server in enumerate(servers, 1)
    )
    (site.folder / "fleet.yaml").write_text(
        f"settings: {{ssh-config: ssh_config, known-hosts: known_hosts}}\nnodes:\n{nodes}"
    )
    return CommandLine(site.folder / "fleet.yaml", site.folder)


def await_started(word, *, hosts, deadline_s=10.0):
    """On each host the shell, `timeout` and the program have the word in their argv; here, fleetops has."""
    until = time.monotonic() + deadline_s
    while len(running(word)) < 1 + 3 * hosts:
        assert time.monotonic() < until, f"{word} never ran"
        time.sleep(0.02)  # not our children: there is nothing to wait on


def interrupt(process, number):
    began = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert out == ""
    return err, time.monotonic() - began


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_what_was_started_is_ended_on_the_hosts(fleet, number):
    word = f"314159{os.getpid()}"
    process = fleet.start("run", "node-[1-2]", "--timeout", "600", "--", "sleep", word)
    await_started(word, hosts=2)
    err, took_s = interrupt(process, number)
    assert err == "error: interrupted; ended on node-[1-2]\n"
    assert took_s < 3
    assert await_gone(word) == []


def test_what_ignores_a_polite_end_is_killed(fleet):
    word = f"deaf-{os.getpid()}"
    line = 'trap "" TERM; while :; do sleep 0.1; done'
    process = fleet.start("run", "node-1", "--timeout", "600", "--", "sh", "-c", line, word)
    await_started(word, hosts=1)
    err, _ = interrupt(process, signal.SIGINT)
    assert err == "error: interrupted; ended on node-1\n"
    assert await_gone(word) == []


def test_a_host_that_cannot_be_told_is_named_with_the_time_that_is_left(fleet, site):
    word = f"271828{os.getpid()}"
    process = fleet.start("run", "node-[1-2]", "--timeout", "600", "--", "sleep", word)
    await_started(word, hosts=2)
    for pid in descendants(site.servers[1].process.pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    err, took_s = interrupt(process, signal.SIGINT)
    error, hint = err.splitlines()
    assert error.startswith(
        "error: interrupted; ended on node-1; the command may still run on node-2, for another "
    )
    assert 500 < int(error.split()[-4]) <= 602
    assert error.endswith(" s at most")
    assert hint.strip() == f"hint: look there before doing it again: {fleet.typed('probe', 'node-2')}"
    assert took_s < 5


def test_a_run_that_nobody_hears_any_more_is_ended_and_says_so(site):
    """As with a full disk behind `--json-lines > file`, or a reader that has gone."""
    word = f"unheard-{os.getpid()}"
    server = site.serve()
    hosts = [node(server, "node-1"), node(free_port(), "down")]
    command = Command(argv=("sh", "-c", f": {word}; sleep 300"), deadline_s=100.0)

    def no_room(_):
        until = time.monotonic() + 20
        while len(running(word)) < 3 and time.monotonic() < until:
            time.sleep(0.05)
        raise OSError(28, "No space left on device")

    with site.connections() as connections, pytest.raises(Unheard) as caught:
        run_on_hosts(connections, hosts, command, on_result=no_room)
    assert caught.value.message == (
        "cannot write what came: No space left on device; no further host was begun; ended on node-1"
    )
    await_gone(word)
