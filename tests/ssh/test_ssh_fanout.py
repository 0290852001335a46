"""Many hosts at once: bounded, as they come, and none at another's cost."""

import socket
import threading
import time

import pytest
from ssh_site import ADDRESS, node

from fleetops.model.command import Command
from fleetops.model.errors import Unreachable
from fleetops.ssh import link
from fleetops.ssh.fanout import fan_out


def test_every_item_gives_one_result():
    results = list(fan_out(range(100), lambda number: number * 2, width=7))
    assert sorted(result.item for result in results) == list(range(100))
    assert all(result.value == result.item * 2 and result.error is None for result in results)


def test_nothing_to_do_is_done():
    assert list(fan_out([], lambda item: item)) == []


def test_nothing_is_begun_once_it_is_closed():
    begun, release = [], threading.Event()

    def work(number):
        begun.append(number)
        if number:
            release.wait(10)

    coming = fan_out(range(50), work, width=2)
    next(coming)
    coming.close()
    release.set()
    assert len(begun) <= 4


def test_no_more_than_width_at_a_time():
    lock, now, most = threading.Lock(), [0], [0]

    def work(_):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.01)  # long enough for others to start if they could
        with lock:
            now[0] -= 1

    list(fan_out(range(30), work, width=4))
    assert most[0] <= 4


def test_results_come_while_others_still_work():
    release = threading.Event()
    results = fan_out(["slow", "quick"], lambda item: release.wait(10) if item == "slow" else item, width=2)
    assert next(results).item == "quick"
    release.set()
    assert next(results).item == "slow"


def test_a_failure_is_a_result():
    def work(item):
        if item == "bad":
            raise Unreachable("bad: no answer", host="bad")
        return item

    results = {result.item: result for result in fan_out(["good", "bad"], work)}
    assert results["good"].value == "good"
    assert results["bad"].value is None
    assert isinstance(results["bad"].error, Unreachable)


def test_a_defect_is_raised_after_the_others_results():
    results = fan_out([1, 0, 2], lambda number: 1 // number, width=1)
    assert [next(results).item, next(results).item] == [1, 2]
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_one_that_hangs_is_given_up_and_holds_nothing():
    forever = threading.Event()
    began = time.monotonic()
    results = list(
        fan_out(["hangs", "fine"], lambda item: item == "fine" or forever.wait(), width=2, deadline_s=0.3)
    )
    assert time.monotonic() - began < 5
    assert [result.item for result in results] == ["fine", "hangs"]
    assert "not finished within 0.3 s" in results[1].error.message
    assert all(thread.daemon for thread in threading.enumerate() if thread.name.startswith("fan-out"))
    forever.set()


def test_a_result_that_waits_to_be_fetched_is_not_given_up():
    results = fan_out(["first", "second"], lambda item: item, width=2, deadline_s=0.2)
    next(results)
    time.sleep(0.3)  # the listener is slow, not the host
    assert next(results).error is None


def test_stopping_to_listen_starts_nothing_more():
    started = []
    gate = threading.Event()

    def work(item):
        started.append(item)
        return item == 0 or gate.wait(10)

    results = fan_out(range(1000), work, width=1)
    assert next(results).item == 0
    (labourer,) = [thread for thread in threading.enumerate() if thread.name.startswith("fan-out")]
    results.close()
    gate.set()
    labourer.join(10)
    assert started in ([0], [0, 1])  # the second may have been under way


def test_31_hosts_answer_while_one_accepts_and_says_nothing(shared_site, monkeypatch):
    monkeypatch.setattr(link, "BANNER_S", 100.0)
    with socket.socket() as silent, shared_site.connections() as connections:
        silent.bind((ADDRESS, 0))
        silent.listen(5)
        server = shared_site.servers[0]
        hosts = [node(silent.getsockname()[1], name="silent")]
        hosts += [node(server, name=f"node-{number}") for number in range(31)]
        results = fan_out(hosts, lambda host: connections.session(host).run(Command(argv=("true",))))
        answers = [next(results) for _ in range(31)]
        assert "silent" not in {result.item.name for result in answers}
        assert all(result.value is not None and result.value.ok for result in answers)
        silent.accept()[0].close()
        last = next(results)
    assert last.item.name == "silent"
    assert isinstance(last.error, Unreachable)
