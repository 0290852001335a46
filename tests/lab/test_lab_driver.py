"""The lab's driver: memory is held exactly as long as its owner lives, or longer where it leaks."""

import os
import signal
import threading
from pathlib import Path

import pytest

from fleetops.lab.driver import Driver, Faults, Gpu, GpuState, Ledger, Totals, create
from fleetops.lab.kernel_log import kernel_lines, log_kernel

GB = 10**9


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    gpus = [Gpu(n, f"GPU-{n}", f"00000000:{n:02X}:00.0", "NVIDIA H20", 97871, 1573, 0) for n in range(2)]
    create(tmp_path / "driver", gpus)
    return tmp_path / "driver"


def owner(folder: Path, *, leak: bool = False) -> int:
    """A child process that has taken 5 GB of host memory and 100 MiB of GPU 1, and waits."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        with Ledger(folder).take("rank", guest="174") as entry:
            entry.set(host_bytes=5 * GB, gpu_mib={1: 100}, leak=leak)
            os.write(writing, b"!")
            signal.pause()
        os._exit(1)
    os.read(reading, 1)
    os.close(reading)
    os.close(writing)
    return pid


def test_what_a_process_takes_is_gone_until_it_dies(folder: Path) -> None:
    pid = owner(folder)
    totals = Ledger(folder).totals()
    assert (totals.host_bytes, totals.gpu_mib) == ({"174": 5 * GB}, {1: 100})
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert Ledger(folder).totals().host_bytes == {}
    assert not list((folder / "ledger").iterdir())


def test_a_zombie_holds_nothing_although_nobody_has_reaped_it(folder: Path) -> None:
    pid = owner(folder)
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert Ledger(folder).holdings() == []
    os.waitpid(pid, 0)


def test_leaked_memory_outlives_its_owner_until_one_of_its_gpus_is_reset(folder: Path) -> None:
    pid = owner(folder)
    driver = Driver(folder)
    driver.ledger.mark_leaked([pid], guest="174")
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert driver.ledger.totals().gpu_mib == {1: 100}
    driver.reset([0])
    assert driver.ledger.totals().gpu_mib == {1: 100}
    driver.reset([1])
    assert driver.ledger.totals().gpu_mib == {}
    assert [driver.state(minor).resets for minor in (0, 1)] == [1, 1]


def test_a_reset_frees_only_what_is_on_the_gpus_that_it_reset(folder: Path) -> None:
    driver = Driver(folder)
    driver.ledger.leak(guest="174", comm="gone", host_bytes=GB, gpu_mib={0: 50, 1: 60})
    driver.set_state(1, reset_fails=True)
    assert driver.reset([0, 1]) == [0]
    assert driver.ledger.totals().gpu_mib == {1: 60}
    driver.set_state(1, reset_fails=False)
    assert driver.reset([1]) == [1]
    assert driver.ledger.holdings() == []


def test_some_memory_is_freed_only_while_its_guest_is_stopped(folder: Path) -> None:
    driver = Driver(folder)
    driver.ledger.leak(guest="174", comm="gone", host_bytes=0, gpu_mib={0: 50}, until_stop=True)
    driver.reset([0])
    driver.reset([0], stopped=["175"])
    assert driver.ledger.totals().gpu_mib == {0: 50}
    driver.reset([0], stopped=["174"])
    assert driver.ledger.holdings() == []


def test_a_boot_of_the_drivers_machine_begins_anew(folder: Path) -> None:
    driver = Driver(folder)
    driver.ledger.leak(guest="host", comm="gone", host_bytes=GB, gpu_mib={0: 50})
    driver.set_faults(hangs=True, mismatch=["host"])
    log_kernel(folder, "before")
    driver.reload()
    assert driver.faults() == Faults()
    assert kernel_lines(folder) == []
    assert driver.ledger.totals() == Totals({"host": 0}, {0: 50})


def test_a_reset_takes_nothing_from_the_living(folder: Path) -> None:
    with Ledger(folder).take("rank", guest="174") as entry:
        entry.set(gpu_mib={0: 7}, leak=True)
        Driver(folder).reset([0, 1])
        assert Ledger(folder).totals().gpu_mib == {0: 7}


def test_leaving_gives_everything_back(folder: Path) -> None:
    with Ledger(folder).take("rank", guest="174") as entry:
        entry.set(host_bytes=GB)
        assert [holding.host_bytes for holding in Ledger(folder).holdings()] == [GB]
    assert Ledger(folder).holdings() == []


def test_memory_without_any_owner(folder: Path) -> None:
    Ledger(folder).leak(guest="174", comm="gone", host_bytes=3 * GB, gpu_mib={0: 50})
    (holding,) = Ledger(folder).holdings()
    assert (holding.alive, holding.leak, holding.host_bytes) == (False, True, 3 * GB)
    Ledger(folder).clear("175")
    assert Ledger(folder).holdings()
    Ledger(folder).clear("174")
    assert Ledger(folder).holdings() == []


def test_a_reader_never_takes_a_leak_that_is_being_written_for_a_dead_owners(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def seen_half_written(path: Path, text: str) -> int:
        with path.open("w") as file:
            file.write(text[:10])
            file.flush()
            Ledger(folder).holdings()
            return file.write(text[10:])

    monkeypatch.setattr(Path, "write_text", seen_half_written)
    Ledger(folder).leak(guest="174", comm="gone", host_bytes=0, gpu_mib={0: 1})
    Ledger(folder).holdings()
    assert Ledger(folder).totals().gpu_mib == {0: 1}


def test_readers_never_see_half_a_record(folder: Path) -> None:
    done = threading.Event()

    def keep_changing() -> None:
        with Ledger(folder).take("rank", guest="174") as entry:
            while not done.is_set():
                entry.set(host_bytes=1, gpu_mib={0: 1})
                entry.set(host_bytes=10**12, gpu_mib=dict.fromkeys(range(8), 10**6))

    thread = threading.Thread(target=keep_changing)
    thread.start()
    try:
        seen = {holding.host_bytes for _ in range(300) for holding in Ledger(folder).holdings()}
    finally:
        done.set()
        thread.join()
    assert seen <= {0, 1, 10**12}
    assert seen


def test_a_reset_is_in_the_kernels_log_with_the_verdict_that_it_changed(folder: Path) -> None:
    driver = Driver(folder)
    driver.set_state(1, recovery_action="Reset", remap_pending=True)
    driver.reset([1])
    assert not driver.state(1).remap_pending
    (done, verdict) = [text for _, text in kernel_lines(folder)]
    assert done.endswith(": reset done")
    assert verdict.endswith("154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)")


def test_healing_a_gpu_leaves_only_what_is_not_its_health(folder: Path) -> None:
    driver = Driver(folder)
    driver.reset([1])
    driver.set_state(1, lanes=8, nvlinks=16, slowed_by=["hw_slowdown"], persistence=False)
    assert driver.state(1).slowed_by == ("hw_slowdown",)
    driver.heal(1)
    assert driver.state(1) == GpuState(persistence=False, resets=1)
