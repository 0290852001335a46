"""What memory is left, as the watcher reads it: MemAvailable, and the room in the cgroups of version 1 and 2."""

import os
from pathlib import Path

import pytest

from fleetops.steps.support.memory_guard.rooms import Bounds, File, Level, MemAvailable, levels

RECORDED = Path(__file__).resolve().parents[1] / "facts/cgroup"
GB = 10**9


@pytest.fixture
def folder(tmp_path):
    """The files of a recorded case, laid out as they lay on the host."""

    def lay_out(case: str) -> Path:
        for line in (RECORDED / case / "stdout").read_text().splitlines():
            path, _, text = line.partition(":")
            target = tmp_path / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("a") as file:
                file.write(text + "\n")
        return tmp_path / "sys/fs/cgroup"

    return lay_out


def test_version_2_counts_file_pages_as_room_and_shared_memory_as_used(folder):
    unit = folder("healthy-v2-unit") / "system.slice/sglang.service"
    assert Level(str(unit), "x").room() == 400 * GB - 300 * GB + 5 * GB + 4_000_000
    before = Level(str(unit), "x").room()
    # 40 GB more of shared memory: in use, in `file` and `shmem`, on neither of the lists that can be dropped.
    stat = unit / "memory.stat"
    stat.write_text(stat.read_text().replace("shmem 12000000000", "shmem 52000000000"))
    (unit / "memory.current").write_text("340000000000\n")
    assert Level(str(unit), "x").room() == before - 40 * GB


def test_version_1_counts_file_pages_as_room_and_shared_memory_as_used(folder):
    own = folder("healthy-v1-unlimited") / "memory/lxc/174"
    assert Level(str(own), "x").room() is None, "no limit, no room of its own"
    (own / "memory.limit_in_bytes").write_text("100000000\n")
    assert Level(str(own), "x").room() == 100_000_000 - 42_360_832 + 1_093_632 + 6_344_704


def test_a_limit_of_version_1_that_is_reached_leaves_next_to_nothing(folder):
    own = folder("failing-v1-at-limit") / "memory/lxc/174"
    assert Level(str(own), "x").room() == 482_113_683_456 - 482_000_000_000 + 900_000_000


def test_memory_high_bounds_as_well_because_it_throttles_before_anything_is_killed(folder):
    unit = folder("healthy-v2-unit") / "system.slice/sglang.service"
    room = Level(str(unit), "x").room()
    (unit / "memory.high").write_text("390000000000\n")
    assert Level(str(unit), "x").room() == room - 10 * GB


def test_the_machines_root_has_no_account_and_is_no_level(folder):
    with pytest.raises(OSError, match=r"memory\.current"):
        Level(str(folder("healthy-v2-bare-root")), "x")


def test_every_level_up_to_the_root_counts_but_not_the_services_own_unit(tmp_path):
    text = "0::/system.slice/fleetops-p-run.service\n"
    assert levels(text, "/c") == ["/c/system.slice/fleetops-p-run.service", "/c/system.slice", "/c"]
    assert levels(text, "/c", "fleetops-p-run.service") == ["/c/system.slice", "/c"]


def test_version_1_has_a_hierarchy_of_its_own_for_memory(tmp_path):
    (tmp_path / "memory").mkdir()
    text = "9:name=systemd:/a\n4:memory:/lxc/174\n0::/b\n"
    base = f"{tmp_path}/memory"
    assert levels(text, str(tmp_path)) == [f"{base}/lxc/174", f"{base}/lxc", base]


def test_a_path_above_what_a_container_sees_leaves_the_visible_root():
    assert levels("0::/../../init.scope\n", "/c") == ["/c"]
    assert levels("", "/c") == ["/c"]


def meminfo(tmp_path, total_kb: int, available_kb: object) -> Path:
    path = tmp_path / "meminfo"
    path.write_text(f"MemTotal: {total_kb:>14} kB\nMemFree: 5 kB\nMemAvailable: {available_kb!s:>10} kB\n")
    return path


def test_mem_available_is_read_anew_from_the_same_open_file(tmp_path):
    path = meminfo(tmp_path, 1000, 900)
    reading = MemAvailable(str(path))
    assert reading.room() == 900 * 1024
    meminfo(tmp_path, 1000, 100)
    assert reading.room() == 100 * 1024


@pytest.mark.parametrize(("total", "available"), [(0, 0), (10, 11), (10, "-3"), (10, "")])
def test_a_meminfo_that_makes_no_sense_is_no_reading(tmp_path, total, available):
    assert MemAvailable(str(meminfo(tmp_path, total, available))).room() is None


def test_a_file_that_was_replaced_under_a_dead_descriptor_is_opened_again(tmp_path):
    path = meminfo(tmp_path, 10, 5)
    file = File(str(path))
    os.dup2(os.open("/dev/null", os.O_WRONLY), file._descriptor)
    assert not file.read(), "the descriptor is gone, as after a restart of lxcfs"
    assert file.read()
    assert file.number(b"MemTotal:") == 10


def test_the_least_of_all_bounds_counts_and_is_named(tmp_path, folder):
    base = folder("healthy-v2-unit")
    for name in ("memory.current", "memory.max"):
        (base / name).write_text("400000000000\n")
    proc = tmp_path / "proc"
    (proc / "self").mkdir(parents=True)
    (proc / "self/cgroup").write_text("0::/\n")
    path = meminfo(tmp_path, 400 * 10**6, 300 * 10**6)
    bounds = Bounds(str(path), str(proc), str(base), "")
    assert bounds.least() == (0, "the room in cgroup /")
    (base / "memory.max").write_text("max\n")
    assert bounds.least() == (300 * 10**6 * 1024, "MemAvailable")


def test_what_is_followed_is_the_services_own_cgroup(tmp_path, folder):
    base = folder("healthy-v2-unit")
    proc = tmp_path / "proc"
    for name, text in (("self", "0::/"), ("7", "0::/system.slice/sglang.service")):
        (proc / name).mkdir(parents=True)
        (proc / name / "cgroup").write_text(text + "\n")
    bounds = Bounds(str(meminfo(tmp_path, 400 * 10**6, 300 * 10**6)), str(proc), str(base), "")
    assert bounds.least()[1] == "MemAvailable"
    bounds.follow("7")
    assert bounds.least() == (105_004_000_000, "the room in cgroup /system.slice/sglang.service")
