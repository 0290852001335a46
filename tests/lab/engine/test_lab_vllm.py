"""The lab's vLLM behaves as the live server did: what it says, what it holds, and how each of its processes ends."""

import json
import os
import signal
from collections.abc import Iterator

import pytest
from engine_machine import Engine, Kin, Machine, await_that, listens, reap

from fleetops.engines import engine as known_engine

VLLM = known_engine("vllm")
PROMPT = {"prompt": "hello there", "max_tokens": 5, "ignore_eos": True}


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """One service for the tests that leave it as it is."""
    engine = Machine(tmp_path_factory.mktemp("vllm") / "node").start_vllm("--kv-offloading-size", "10")
    try:
        yield engine.ready()
    finally:
        engine.kill_all()


def named(engine: Engine, start: str) -> list[Kin]:
    return [kin for kin in engine.kin() if kin.comm.startswith(start)]


def test_its_processes_are_titled_and_hang_under_each_other(serving: Engine) -> None:
    [core] = named(serving, "VLLM::EngineCor")
    workers = named(serving, "VLLM::Worker")
    assert core.ppid == serving.process.pid
    assert [(kin.ppid, kin.cmdline[0]) for kin in workers] == [
        (core.pid, "VLLM::Worker_TP0"),
        (core.pid, "VLLM::Worker_TP1"),
    ]


def test_its_log_is_read_like_the_real_one(serving: Engine) -> None:
    report = VLLM.read_log(serving.log.splitlines())
    assert (report.ready, report.failure) == (True, "")
    [pool] = VLLM.parse_metrics(serving.ask("/metrics")[1])
    assert report.device_tokens == pool.device_tokens
    assert f"(APIServer pid={serving.process.pid}) INFO" in serving.log


def test_its_answers_have_the_real_ones_fields(serving: Engine) -> None:
    status, body = serving.ask("/v1/completions", PROMPT)
    assert (status, VLLM.parse_generation(body.encode()).tokens) == (200, 5)
    status, body = serving.ask("/v1/completions", {**PROMPT, "model": "nope"})
    assert (status, json.loads(body)["error"]["type"]) == (404, "NotFoundError")
    assert json.loads(serving.ask("/version")[1]) == {"version": "0.32.0"}
    assert serving.ask("/get_server_info")[0] == 404


def test_host_memory_is_shared_out_and_not_taken_by_each(serving: Engine) -> None:
    taken = 445 - serving.machine.available_gb
    assert 10 * 2**30 / 1e9 < taken < 10 * 2**30 / 1e9 + 2.5


def test_one_rank_is_the_engine_core_itself(machine: Machine) -> None:
    engine = machine.start_vllm(ranks=1).ready()
    assert [kin.comm for kin in engine.kin()][1:] == ["VLLM::EngineCor"]
    assert set(machine.gpu_mib) == {0}


def test_an_unknown_option_is_refused_as_argparse_does(machine: Machine) -> None:
    engine = machine.start_vllm("--hicache-size", "4")
    assert engine.ended() == 2
    assert VLLM.read_log(engine.log.splitlines()).failure.endswith("unrecognized arguments: --hicache-size 4")


def test_a_cache_without_room_is_said_with_its_cause(machine: Machine) -> None:
    engine = machine.start_vllm("--gpu-memory-utilization", "0.05")
    assert engine.ended() == 1
    assert "No available memory for the cache blocks" in VLLM.read_log(engine.log.splitlines()).failure
    assert (engine.kin(), machine.gpu_mib) == ([], {})


def test_sigterm_ends_it_cleanly(machine: Machine) -> None:
    engine = machine.start_vllm().ready()
    os.kill(engine.process.pid, signal.SIGTERM)
    assert engine.ended() == 0
    assert (engine.kin(), machine.segments, machine.gpu_mib) == ([], [], {})


def test_a_killed_server_leaves_everything_else_behind(machine: Machine) -> None:
    engine = machine.start_vllm().ready()
    engine.process.kill()
    engine.ended()
    assert not listens(engine.port)
    left = engine.kin()
    assert [kin.comm for kin in left] == ["VLLM::EngineCor", "VLLM::Worker_TP", "VLLM::Worker_TP"]
    assert set(machine.gpu_mib) == {0, 1}
    pids = {kin.pid for kin in left}
    os.kill(left[0].pid, signal.SIGTERM)
    await_that(lambda: reap(pids) or not engine.kin(), engine.kin)
    assert (machine.segments, machine.gpu_mib) == ([], {}), "asked to end, it takes its workers along"


def test_a_killed_engine_core_takes_workers_and_server_along(machine: Machine) -> None:
    engine = machine.start_vllm().ready()
    [core] = named(engine, "VLLM::EngineCor")
    pids = {kin.pid for kin in engine.kin()} - {engine.process.pid}
    os.kill(core.pid, signal.SIGKILL)
    assert engine.ended() == 1
    await_that(lambda: reap(pids) or not engine.kin(), engine.kin)
    assert "EngineDeadError" in VLLM.read_log(engine.log.splitlines()).failure


def test_a_killed_worker_is_noticed_within_a_second_and_named(machine: Machine) -> None:
    engine = machine.start_vllm().ready()
    os.kill(named(engine, "VLLM::Worker")[1].pid, signal.SIGKILL)
    assert engine.ended() == 1
    assert VLLM.read_log(engine.log.splitlines()).failure == "worker VllmWorker-1 died unexpectedly"


def test_a_stopped_worker_is_not_noticed(machine: Machine) -> None:
    engine = machine.start_vllm().ready()
    worker = named(engine, "VLLM::Worker")[1]
    os.kill(worker.pid, signal.SIGSTOP)
    assert (engine.ask("/health")[0], engine.ask("/v1/models")[0]) == (200, 200)
    with pytest.raises(TimeoutError):
        engine.ask("/v1/completions", PROMPT, timeout_s=1.0)
    os.kill(worker.pid, signal.SIGCONT)
    assert engine.ask("/v1/completions", PROMPT)[0] == 200


def test_a_key_guards_what_generates_and_not_its_health(machine: Machine) -> None:
    engine = machine.start_vllm("--api-key", "sk-1", ranks=1).ready()
    assert [engine.ask(path)[0] for path in ("/health", "/metrics", "/v1/models")] == [200, 200, 401]
