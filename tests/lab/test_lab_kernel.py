"""A host's memory figures: what was taken is missing from what is available, and nowhere else."""

from hypothesis import given
from hypothesis import strategies as st

from fleetops.lab.kernel import MemoryUse, cgroup, meminfo

GB = 10**9
SIZES = st.integers(0, 2000 * GB)


def figures(text: str) -> dict[str, int]:
    return {line.split(":")[0]: int(line.split()[1]) * 1024 for line in text.splitlines()}


def test_pinned_memory_is_missing_and_shows_nowhere() -> None:
    idle = figures(meminfo(MemoryUse(total=449 * GB, idle=445 * GB)))
    taken = figures(meminfo(MemoryUse(total=449 * GB, idle=445 * GB, pinned=384 * GB)))
    assert abs(idle["MemAvailable"] - taken["MemAvailable"] - 384 * GB) < 4096
    assert {name for name in idle if idle[name] != taken[name]} == {"MemFree", "MemAvailable"}


def test_shared_memory_is_counted_as_used_and_charged_to_the_cgroup() -> None:
    use = MemoryUse(total=449 * GB, idle=445 * GB, shared=12 * GB)
    told = figures(meminfo(use))
    assert abs(told["Shmem"] - 12 * GB) < 4096
    assert abs(told["MemAvailable"] - 433 * GB) < 4096
    files = cgroup(use, limited=True)
    assert f"shmem {12 * GB}" in files["memory.stat"]
    assert int(files["memory.current"]) > 12 * GB
    assert int(files["memory.max"]) <= 449 * GB


def test_a_machine_of_its_own_has_no_limit() -> None:
    assert cgroup(MemoryUse(total=GB, idle=GB), limited=False)["memory.max"] == "max\n"


@given(SIZES, SIZES, SIZES)
def test_the_file_keeps_its_length_and_nothing_goes_below_zero(idle: int, pinned: int, shared: int) -> None:
    text = meminfo(MemoryUse(total=2000 * GB, idle=idle, pinned=pinned, shared=shared))
    assert len(text) == len(meminfo(MemoryUse(total=0, idle=0)))
    assert min(figures(text).values()) >= 0
