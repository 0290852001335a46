"""Real memory: a container's limit, the kernel's OOM killer in it, and the guard that is there before it.

Sizes and rates are a thousandth of a node's, as in tests/guard: a floor of 16 MB stands for 16 GB, 20 MB/s for 20 GB/s.
MemAvailable is lxcfs's word; the limit itself lies above what the container can see.
"""

import signal

import pytest

MB = 10**6
FLOOR = 16 * MB
# Up to here the guard is promised to win; from about a tenth of a second between floor and limit on it is a race.
HELD_MB_S = (1, 5, 20, 80)
RACED_MB_S = (160, 320, 640, 1280)


def oom_kills(node):
    return int(node.memory("ns/memory.oom_control").split()[-1])


def grow(node):
    """One rank takes ever more; its pid."""
    _, second = (one.pid for one in node.ranks())
    node.kill(second, number=signal.SIGUSR1)
    return second


def state_of(node, pid):
    return {one.pid: one.state for one in node.ranks()}.get(pid, "gone")


def race(node, cell, rate):
    """A rank of a server that holds most of the container takes more, at `rate` MB/s, until the guard or the kernel ends it."""
    to_floor = min(max(2 * rate, 8), 200)
    first = (node.available_bytes() // MB - FLOOR // MB - 30 - to_floor) // 2
    node.serve(DEEP_MB=str(first), DEEP_RATE=str(rate))
    node.guard(FLOOR)
    grown = grow(node)
    node.until(lambda: is_over(node, grown), node.guarded)
    guarded = node.guarded()
    killed, most_ms = guarded["killed"], guarded["longest_gap_s"] * 1000
    cell.by(
        f"the memory guard, gone in {killed['gone_s'] * 1000:.0f} ms" if killed else "the kernel was first"
    )
    cell.verified(
        f"limit reached {int(node.memory('memory.failcnt'))} times, OOM kills {oom_kills(node)},"
        f" lowest {guarded['lowest_bytes'] / MB:.1f} of {FLOOR / MB:.0f} MB, longest gap {most_ms:.0f} ms"
    )


def is_over(node, grown):
    """The guard has ended it all, or the kernel has ended the rank and there is room again: then the guard has no reason."""
    killed = node.guarded()["killed"]
    if killed:
        return killed["gone_s"] is not None
    return oom_kills(node) > 0 and state_of(node, grown) in {"Z", "gone"}


def test_an_oom_kill_by_the_kernel_is_seen(node, cell):
    node.serve(DEEP_MB="100", DEEP_RATE="400")
    assert oom_kills(node) == 0
    grown = grow(node)
    node.until(lambda: state_of(node, grown) == "Z")
    assert oom_kills(node) == 1
    probed = node.probe()["findings"]
    cell.finds({one["check"] for one in probed})
    [dead] = [one for one in probed if one["check"] == "ranks-dead"]
    assert "1 of 2 ranks are zombies" in dead["evidence"]
    assert "the kernel's OOM killer has ended 1 process of this node's cgroup" in dead["evidence"]
    cell.verified("the kernel's count of OOM kills is told beside the dead rank")


@pytest.mark.parametrize(
    "rate", [pytest.param(each, marks=() if each == 20 else pytest.mark.matrix) for each in HELD_MB_S]
)
def test_the_guard_ends_it_before_the_limit_is_reached(node, cell, rate):
    race(node, cell, rate)
    assert oom_kills(node) == 0
    assert int(node.memory("memory.failcnt")) == 0
    assert node.guarded()["killed"]["left"] == 0
    assert node.ranks() == []


@pytest.mark.matrix
@pytest.mark.parametrize("rate", RACED_MB_S)
def test_beyond_that_the_node_answers_whoever_was_first(node, cell, rate):
    race(node, cell, rate)
    assert node.fleetops("run", node.name, "--", "true").status == 0
