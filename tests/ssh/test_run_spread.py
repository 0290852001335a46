"""A run in several processes: the same results, errors and interrupts as in one; a process that dies costs only its hosts."""

import contextlib
import os
import pickle
import signal
import threading
import time
from dataclasses import replace

import pytest
from ssh_site import await_gone, free_port, node, running

from fleetops.fleet import spread
from fleetops.fleet.run import RunInterrupted, Unheard, run_on_hosts
from fleetops.fleet.spread import processes_for, run_spread
from fleetops.model.command import Command
from fleetops.model.errors import HostKeyRefused, Refused, Unreachable, UsageError

ECHO = Command(argv=("sh", "-c", "echo hello; echo oops >&2; exit 3"), changes=True)


@pytest.fixture
def hosts(site):
    """Six nodes on two servers, one that is down and one whose key nobody knows."""
    servers = [site.serve() for _ in range(2)]
    stranger = site.serve(known=False)
    well = [node(servers[number % 2], f"node-{number}") for number in range(6)]
    return [*well, node(free_port(), "down"), node(stranger, "stranger")]


def untimed(report):
    return [(host, replace(outcome, duration_s=0.0)) for host, outcome in report.outcomes]


def test_results_and_their_order_are_those_of_one_process(site, hosts):
    with site.connections() as connections:
        alone = run_on_hosts(connections, hosts, ECHO)
    came = []
    with site.connections() as connections:
        shared = run_spread(
            connections, hosts, ECHO, processes=3, on_result=lambda one: came.append(one.item.name)
        )
    assert untimed(shared) == untimed(alone)
    assert [host for host, _ in shared.outcomes] == [f"node-{number}" for number in range(6)]
    assert [(host, type(error), error.message, error.reason) for host, error in shared.failures] == [
        (host, type(error), error.message, error.reason) for host, error in alone.failures
    ]
    assert [type(error) for _, error in shared.failures] == [Unreachable, HostKeyRefused]
    assert sorted(came) == sorted(host.name for host in hosts)


def test_what_is_no_single_hosts_matter_ends_it(site, hosts):
    with site.connections() as connections, pytest.raises(UsageError, match="NUL"):
        run_spread(connections, hosts, Command(argv=("echo", "a\0b")), processes=2)


def test_a_process_that_is_killed_costs_its_hosts_only(site, hosts, monkeypatch):
    word = f"spread-{os.getpid()}-kill"
    line = f": {word}; case $SSH_CONNECTION in *) sleep 2 ;; esac"
    begun = begun_parts(monkeypatch)
    threading.Timer(0.8, lambda: os.kill(begun[0].process.pid, signal.SIGKILL)).start()
    with site.connections() as connections:
        report = run_spread(connections, hosts[:6], Command(argv=("sh", "-c", line)), processes=2)
    assert [host for host, _ in report.outcomes] == ["node-1", "node-3", "node-5"]
    assert [host for host, _ in report.failures] == ["node-0", "node-2", "node-4"]
    assert all("whether the command ran is not known" in error.message for _, error in report.failures)
    await_gone(word)


def test_an_interrupt_ends_the_command_in_every_process(site, hosts):
    word = f"spread-{os.getpid()}-interrupt"
    line = f": {word}; sleep 300"

    def when_it_runs():
        until = time.monotonic() + 20
        while len(running(word)) < 6 * 3 and time.monotonic() < until:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=when_it_runs, daemon=True).start()
    with site.connections() as connections, pytest.raises(RunInterrupted) as caught:
        run_spread(connections, hosts[:6], Command(argv=("sh", "-c", line), deadline_s=100.0), processes=2)
    assert {*caught.value.ended, *caught.value.left_s} == {host.name for host in hosts[:6]}
    await_gone(word)


def begun_parts(monkeypatch):
    begun = []
    begin = spread._Part.begin.__func__
    monkeypatch.setattr(
        spread._Part, "begin", classmethod(lambda cls, *given: begun.append(begin(cls, *given)) or begun[-1])
    )
    return begun


def test_no_more_hosts_at_a_time_than_were_asked_for(site, hosts, monkeypatch):
    begun = begun_parts(monkeypatch)
    note = site.folder / "times"
    line = f"echo + >> {note}; sleep 0.3; echo - >> {note}"
    with site.connections() as connections:
        run_spread(connections, hosts[:6], Command(argv=("sh", "-c", line)), processes=3, width=2)
    under_way, most = 0, 0
    for mark in note.read_text().split():
        under_way += 1 if mark == "+" else -1
        most = max(most, under_way)
    assert (len(begun), most) == (2, 2)


def test_an_interrupt_of_one_process_is_one_of_all(site, hosts, monkeypatch):
    begun = begun_parts(monkeypatch)
    word = f"spread-{os.getpid()}-one"

    def when_it_runs():
        until = time.monotonic() + 20
        while len(running(word)) < 6 * 3 and time.monotonic() < until:
            time.sleep(0.05)
        os.kill(begun[0].process.pid, signal.SIGTERM)  # which is not heard
        os.kill(begun[0].process.pid, signal.SIGINT)

    threading.Thread(target=when_it_runs, daemon=True).start()
    command = Command(argv=("sh", "-c", f": {word}; sleep 300"), deadline_s=100.0)
    with site.connections() as connections, pytest.raises(RunInterrupted) as caught:
        run_spread(connections, hosts[:6], command, processes=2)
    assert {*caught.value.ended, *caught.value.left_s} == {host.name for host in hosts[:6]}
    await_gone(word)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_run_that_nobody_hears_is_ended(site, hosts, processes):
    word = f"spread-{os.getpid()}-unheard-{processes}"
    line = f": {word}; case $SSH_CONNECTION in *) echo x ;; esac; sleep $0"

    def no_room(_):
        raise OSError(28, "No space left on device")

    command = Command(argv=("sh", "-c", f"{line}", "300"), deadline_s=100.0)
    quick = [replace(hosts[0], name="down", port=free_port())]
    with site.connections() as connections, pytest.raises(Unheard) as caught:
        run_spread(connections, [*hosts[:5], *quick], command, processes=processes, on_result=no_room)
    assert caught.value.message.startswith(
        "cannot write what came: No space left on device; no further host was begun"
    )
    await_gone(word)


def test_processes_end_with_whom_they_work_for(site, hosts):
    """As the kernel's OOM killer ends it: nothing further is begun."""
    word = f"spread-{os.getpid()}-orphan"
    note = site.folder / "begun"
    line = f": {word}; echo x >> {note}; sleep 3"
    alone = os.fork()
    if alone == 0:
        os.setpgid(0, 0)
        with site.connections() as connections:
            run_spread(connections, hosts[:6], Command(argv=("sh", "-c", line)), processes=2, width=2)
        os._exit(0)
    until = time.monotonic() + 20
    while (not note.exists() or len(note.read_text().split()) < 2) and time.monotonic() < until:
        time.sleep(0.02)
    os.kill(alone, signal.SIGKILL)
    os.waitpid(alone, 0)
    await_gone(word)
    assert len(note.read_text().split()) == 2


def test_nothing_is_left_of_the_processes(site, hosts):
    with site.connections() as connections:
        run_spread(connections, hosts[:4], ECHO, processes=2)
    with contextlib.suppress(ChildProcessError):
        assert os.waitpid(-1, os.WNOHANG) == (0, 0)


@pytest.mark.parametrize(
    ("hosts", "cores", "processes"), [(1, 8, 1), (63, 8, 1), (64, 8, 2), (1000, 8, 8), (1000, 1, 1)]
)
def test_as_many_processes_as_there_are_cores_and_work(monkeypatch, hosts, cores, processes):
    monkeypatch.setattr(spread.sys, "platform", "linux")
    monkeypatch.setattr(spread.os, "sched_getaffinity", lambda _: set(range(cores)))
    assert processes_for(hosts) == processes


def test_elsewhere_one_process_does_it_all(monkeypatch):
    monkeypatch.setattr(spread.sys, "platform", "darwin")
    assert processes_for(1000) == 1


def test_errors_travel_as_they_are():
    refused = Refused("no", guard="lock", hint="wait", host="node-1")
    again = pickle.loads(pickle.dumps(refused))
    assert (type(again), again.message, again.guard, again.hint, again.host) == (
        Refused,
        "no",
        "lock",
        "wait",
        "node-1",
    )
