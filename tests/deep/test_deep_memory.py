"""Real memory: a container's limit, the kernel's OOM killer in it, and the guard that is there before it."""

import signal

import pytest

pytestmark = pytest.mark.timeout(120)


def test_an_oom_kill_by_the_kernel_is_seen(node):
    node.serve(DEEP_MB="100", DEEP_RATE="400")
    assert "oom_kill 0" in node.memory("ns/memory.oom_control")
    _, second = (one.pid for one in node.ranks())
    node.kill(second, number=signal.SIGUSR1)
    node.until(lambda: {one.pid: one.state for one in node.ranks()}.get(second) == "Z")
    assert "oom_kill 1" in node.memory("ns/memory.oom_control")
    [dead] = [one for one in node.probe()["findings"] if one["check"] == "ranks-dead"]
    assert "1 of 2 ranks are zombies" in dead["evidence"]
    assert "OOM" in dead["evidence"]


MB = 10**6
FLOOR = 16 * MB


def oom_kills(node):
    return int(node.memory("ns/memory.oom_control").split()[-1])


def race(node, rate, floor=FLOOR):
    """A rank of a server that already holds most of the container takes more at `rate` MB/s until somebody ends it."""
    room = node.available_bytes() // MB
    first = (room - floor // MB - max(30, min(rate * 2, 250))) // 2
    node.serve(DEEP_MB=str(first), DEEP_RATE=str(rate))
    node.guard(floor)
    _, second = (one.pid for one in node.ranks())
    node.kill(second, number=signal.SIGUSR1)
    node.until(lambda: {one.pid: one.state for one in node.ranks()}.get(second, "gone") in {"Z", "gone"})
    return oom_kills(node) == 0


@pytest.mark.parametrize("rate", [5, 20, 40, 80, 160, 320, 640, 1280])
def test_the_guard_is_there_before_the_kernel(node, rate):
    """Sizes and rates a thousandth of a node's, as in tests/guard; MemAvailable is lxcfs's word."""
    won = race(node, rate)
    import time

    time.sleep(0.5)
    st = node.guarded()
    print(
        "RATE",
        rate,
        "won",
        won,
        "failcnt",
        node.memory("memory.failcnt").strip(),
        {k: st[k] for k in ("killed", "lowest_bytes", "longest_gap_s", "lowest_bound", "ended")},
    )
