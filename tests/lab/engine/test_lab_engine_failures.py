"""How a launch fails, and the incident: the host runs out of memory while every rank pins what it was told."""

import os
import signal

import pytest
from engine_machine import Engine, Machine, await_that, listens, reap

from fleetops.lab.engine.fate import Fate, fate_of

HIERARCHICAL = ("--enable-hierarchical-cache", "--hicache-size")


def test_a_pool_that_no_rank_can_have_is_refused_by_the_engine_itself(machine: Machine) -> None:
    engine = machine.start(*HIERARCHICAL, "430")
    assert engine.ended() == -signal.SIGKILL
    assert "Scheduler hit an exception: Traceback (most recent call last):\n" in engine.log
    told = "ValueError: Not enough host memory available. Requesting 430.00 GB but only have 425.86 GB free. "
    assert f"{told}Please reduce the size of the hierarchical cache.\n" in engine.log
    assert "Received sigquit from a child process. It usually means the child failed." in engine.log


def test_a_pool_smaller_than_the_gpus_is_refused_too(machine: Machine) -> None:
    engine = machine.start(*HIERARCHICAL, "16", "--mem-fraction-static", "0.88")
    assert engine.ended() == -signal.SIGKILL
    assert "AssertionError: The host memory should be larger than the device memory" in engine.log


def test_a_launch_on_gpus_that_somebody_holds_fails(machine: Machine) -> None:
    machine.driver.ledger.leak(guest="host", comm="x", host_bytes=0, gpu_mib={2: 90000})
    engine = machine.start()
    assert engine.ended() == -signal.SIGKILL
    assert "RuntimeError: The memory capacity is unbalanced. Some GPUs may be occupied" in engine.log


def test_weights_that_leave_no_room_fail(machine: Machine) -> None:
    engine = machine.start("--mem-fraction-static", "0.5")
    assert engine.ended() == -signal.SIGKILL
    assert "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. " in engine.log


def test_more_ranks_than_gpus_fail(machine: Machine) -> None:
    engine = machine.start(ranks=9)
    assert engine.ended() == 1
    assert "CUDA error: invalid device ordinal" in engine.log


def test_a_missing_model_fails_with_its_path(machine: Machine) -> None:
    engine = machine.start(model=machine.folder / "nowhere")
    assert engine.ended() == 1
    assert "OSError: Can't load the configuration of" in engine.log


def test_an_unknown_flag_ends_with_2(machine: Machine) -> None:
    engine = machine.start("--hicache-sice", "3")
    assert engine.ended() == 2
    assert "launch_server.py: error: unrecognized arguments: --hicache-sice 3" in engine.log


def test_a_smaller_fraction_gives_the_tokens_of_before(machine: Machine) -> None:
    engine = machine.start("--mem-fraction-static", "0.80").ready()
    assert "max_total_num_tokens=116171, " in engine.log


@pytest.mark.parametrize(
    ("ranks", "killed", "ghosts", "stuck"), [(8, 5, 2, 1), (4, 1, 2, 1), (2, 0, 1, 1), (1, 0, 1, 0)]
)
def test_what_becomes_of_each_rank(ranks: int, killed: int, ghosts: int, stuck: int) -> None:
    fates = [fate_of(number, ranks) for number in range(ranks)]
    assert [fates.count(each) for each in (Fate.KILLED, Fate.GHOST, Fate.STUCK)] == [killed, ghosts, stuck]


@pytest.fixture
def wedged(machine: Machine) -> Engine:
    engine = machine.start(*HIERARCHICAL, "300", "--mem-fraction-static", "0.88")

    def all_gone() -> bool:
        return len(engine.ranks()) == 8 and all(rank.state in "ZD" for rank in engine.ranks())

    await_that(all_gone, lambda: (engine.ranks(), engine.log[-1000:]))
    return engine


def test_the_incident(wedged: Engine) -> None:
    ranks = wedged.ranks()
    assert [rank.state for rank in ranks].count("D") == 1
    assert [rank.state for rank in ranks if not rank.live] == ["Z"] * 5
    assert [rank.state for rank in ranks if rank.live].count("Z") == 2
    assert {rank.ppid for rank in ranks} == {wedged.process.pid}, "the launcher reaps nobody"
    assert wedged.process.poll() is None
    assert wedged.log.count("Allocating 300.00 GB host memory for hierarchical KV cache.") == 8
    assert "max_total_num_tokens=231120" in wedged.log, "which tells nothing of the host pool"
    machine = wedged.machine
    assert 9 <= machine.available_gb < 10
    assert round(sum(machine.gpu_mib.values()) / 1024) == 741
    assert listens(wedged.port)
    with pytest.raises(OSError, match="timed out"):
        wedged.ask("/health", timeout_s=0.5)


def test_what_sigterm_and_sigkill_do_to_the_incident(wedged: Engine) -> None:
    machine = wedged.machine
    adopted = {kin.pid for kin in wedged.kin()} - {wedged.process.pid}
    os.killpg(wedged.process.pid, signal.SIGTERM)
    wedged.ended()
    await_that(lambda: reap(adopted) or len(wedged.kin()) == 3, wedged.kin)
    assert sorted(kin.state for kin in wedged.kin()) == ["D", "Z", "Z"]
    assert listens(wedged.port), "the ghost has it"
    os.killpg(wedged.process.pid, signal.SIGKILL)
    await_that(lambda: reap(adopted) or not wedged.kin(), wedged.kin)
    assert not listens(wedged.port)
    assert sorted(machine.gpu_mib) == [1, 2, 3, 4, 6], "what the killed ranks had leaks"
    assert len(machine.segments) == 10
    machine.driver.reset(range(8))
    assert (machine.gpu_mib, machine.available_gb) == ({}, 445)
    relaunched = machine.start(*HIERARCHICAL, "48", "--mem-fraction-static", "0.88").ready()
    assert "max_total_num_tokens=231120" in relaunched.log
