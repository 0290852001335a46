"""How a service ends, and what each kind of end leaves behind."""

import os
import signal
import socket
import threading

import pytest
from engine_machine import Engine, Machine, await_that, listens, reap

POOL = ("--enable-hierarchical-cache", "--hicache-size", "20")


def test_sigterm_ends_it_cleanly(machine: Machine) -> None:
    engine = machine.start(*POOL).ready()
    os.kill(engine.process.pid, signal.SIGTERM)
    assert engine.ended() == 0
    assert "SIGTERM received. signum=15" in engine.log
    assert "Gracefully exiting... Remaining number of requests 0." in engine.log
    assert (engine.kin(), machine.segments, machine.gpu_mib) == ([], [], {})
    assert machine.available_gb == 445


def test_sigkill_of_the_launcher_takes_the_ranks_along_and_leaves_segments(machine: Machine) -> None:
    engine = machine.start(*POOL).ready()
    adopted = {kin.pid for kin in engine.kin()} - {engine.process.pid}
    engine.process.kill()
    engine.ended()
    await_that(lambda: reap(adopted) or not engine.kin(), engine.kin)
    assert len(machine.segments) == 10
    assert (machine.gpu_mib, machine.available_gb) == ({}, 445)


def test_sigterm_to_the_whole_group_is_as_clean(machine: Machine) -> None:
    engine = machine.start().ready()
    os.killpg(engine.process.pid, signal.SIGTERM)
    assert engine.ended() == 0
    assert (engine.kin(), machine.segments, machine.gpu_mib) == ([], [], {})


def test_a_dead_rank_is_not_reaped_and_nothing_is_answered_any_more(machine: Machine) -> None:
    engine = machine.start(SGLANG_HEALTH_CHECK_TIMEOUT="1").ready()
    victim = engine.ranks()[3]
    os.kill(victim.pid, signal.SIGKILL)
    await_that(lambda: engine.ranks()[3].state == "Z", engine.ranks)
    assert 3 not in machine.gpu_mib, "its memory is free: only the process entry remains"
    assert engine.ask("/v1/models")[0] == 200
    assert engine.ask("/health")[0] == 503
    assert "Health check failed. Server couldn't get a response from detokenizer" in engine.log
    with pytest.raises(TimeoutError):
        engine.ask("/generate", {"text": "x"}, timeout_s=1)
    assert [kin.state for kin in engine.kin() if kin.pid == victim.pid] == ["Z"]


def test_a_launcher_with_an_unanswered_request_does_not_end_on_sigterm(machine: Machine) -> None:
    engine = machine.start().ready()
    for rank in engine.ranks():
        os.kill(rank.pid, signal.SIGKILL)
    ask = threading.Thread(target=_ask_in_vain, args=(engine,))
    ask.start()
    ask.join()
    os.kill(engine.process.pid, signal.SIGTERM)
    await_that(lambda: engine.log.count("Remaining number of requests 1.") > 1, lambda: engine.log[-500:])
    assert engine.process.poll() is None


def _ask_in_vain(engine: Engine) -> None:
    with pytest.raises(TimeoutError):
        engine.ask("/generate", {"text": "x"}, timeout_s=0.5)


def test_a_taken_port_ends_it_after_loading_as_uvicorn_ends(machine: Machine) -> None:
    engine = machine.start(ranks=1, model=machine.folder / "models/small")
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", engine.port))
        taken.listen()
        assert engine.ended() == 1
    assert "error while attempting to bind on address ('127.0.0.1'," in engine.log
    assert "address already in use" in engine.log


def test_a_ghost_keeps_memory_and_port_when_the_launcher_is_gone(machine: Machine) -> None:
    engine = machine.start(*POOL, SGLANG_LAB_FAULT="ghost-leader").ready()
    adopted = {kin.pid for kin in engine.kin()} - {engine.process.pid}
    engine.process.kill()
    engine.ended()
    await_that(lambda: reap(adopted) or len(engine.kin()) == 1, engine.kin)
    await_that(lambda: engine.kin()[0].state == "Z", engine.kin)
    (ghost,) = engine.kin()
    assert (ghost.state, ghost.comm, ghost.cmdline) == ("Z", "sglang::schedul", [""])
    assert ghost.live > 0
    assert listens(engine.port)
    assert set(machine.gpu_mib) == {0}
    assert machine.available_gb < 445 - 20
    os.kill(ghost.pid, signal.SIGTERM)
    assert engine.kin() == [ghost], "only SIGKILL ends it"
    os.kill(ghost.pid, signal.SIGKILL)
    await_that(lambda: reap({ghost.pid}) or not engine.kin(), engine.kin)
    assert (listens(engine.port), machine.gpu_mib, machine.available_gb) == (False, {}, 445)
