"""What a real kernel leaves of a server, on a real container over real SSH: healed by `kill`, seen by looking again."""

import signal

import pytest

pytestmark = pytest.mark.timeout(120)


def is_healed(node, ran):
    """By the command's own table and by what the node's kernel says: nothing of the server is left, the node is itself."""
    assert ran.status == 0, ran.stdout + ran.stderr
    assert all(row["ok"] for row in ran.json["reclaimed"]), ran.json["reclaimed"]
    assert node.ranks() == []
    assert not node.listens()
    return True


def test_zombies_whose_parent_hangs(node):
    node.serve(DEEP_FAULT="hang")
    node.kill(*(one.pid for one in node.ranks()))
    node.until(lambda: [one.state for one in node.ranks()] == ["Z", "Z"])
    assert "ranks-dead" in node.findings()
    assert is_healed(node, node.heal())


def test_a_zombie_leader_whose_thread_holds_memory_and_the_port(node):
    idle = node.available_bytes()
    node.serve(DEEP_FAULT="ghost", DEEP_MB="100")
    [ghost] = [one for one in node.ranks() if one.state == "Z"]
    node.kill(*(one.pid for one in node.ranks() if one != ghost), node.launcher())
    node.until(lambda: [one.pid for one in node.ranks()] == [ghost.pid])
    assert node.ranks()[0].threads > 1
    assert node.sh("ls /proc/$1/fd", str(ghost.pid), check=False) == ""
    assert node.listens()
    assert idle - node.available_bytes() > 100 * 10**6
    assert "ghost-leaders" in node.findings()
    assert is_healed(node, node.heal("recover"))
    assert idle - node.available_bytes() < 30 * 10**6


def test_ranks_that_ignore_sigterm_beside_one_that_is_dead(node):
    node.serve(DEEP_FAULT="stubborn")
    first, second = (one.pid for one in node.ranks())
    node.kill(first, number=signal.SIGTERM)
    node.kill(second)
    node.until(lambda: {one.state for one in node.ranks()} == {"S", "Z"})
    assert is_healed(node, node.heal())


def test_orphans_under_pid_1_and_what_they_leave_in_shared_memory(node):
    node.start("python3 /opt/sglang/stranger.py", "mapped")
    node.serve()
    node.kill(node.launcher())
    node.until(lambda: {one.ppid for one in node.ranks()} == {1})
    assert len(node.posix_segments()) == 5
    assert node.sysv_segments() == [0x5600, 0x5601]
    assert "orphans" in node.findings()
    assert is_healed(node, node.heal())
    assert node.posix_segments() == ["psm_stranger"]
    assert node.sysv_segments() == []
    assert [one.comm for one in node.processes()] == ["python3"]
