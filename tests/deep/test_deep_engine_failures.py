"""What a real kernel leaves of a server, on a real container over real SSH: healed by `kill`, seen by looking again."""

import signal

import pytest
from deep_node import changes

LOOP = "while true; do python3 /opt/sglang/launch_server.py {flags}; sleep 0.2; done"


def is_healed(node, cell, ran):
    """Nothing of the server is left, by the node's kernel and by fleetops' facts read again."""
    cell.ended(ran)
    assert ran.status == 0, ran.stdout + ran.stderr
    rows = ran.json["reclaimed"]  # of a recovery; what `kill` left is asked of probe
    assert all(row["ok"] for row in rows), rows
    assert node.ranks() == []
    assert not node.listens()
    assert rows or node.findings() == {"service-absent"}
    cell.verified("no process, port free, facts read again")


def test_zombies_whose_parent_hangs(node, cell):
    node.serve(DEEP_FAULT="hang")
    node.kill(*(one.pid for one in node.ranks()))
    node.until(lambda: [one.state for one in node.ranks()] == ["Z", "Z"])
    assert "ranks-dead" in cell.finds(node.findings())
    is_healed(node, cell, node.heal())


def test_a_zombie_leader_whose_thread_holds_memory_and_the_port(node, cell):
    idle = node.available_bytes()
    node.serve(DEEP_FAULT="ghost", DEEP_MB="100")
    [ghost] = [one for one in node.ranks() if one.state == "Z"]
    node.kill(*(one.pid for one in node.ranks() if one != ghost), node.launcher())
    node.until(lambda: [one.pid for one in node.ranks()] == [ghost.pid])
    assert node.ranks()[0].threads > 1
    assert node.sh("ls /proc/$1/fd", str(ghost.pid), check=False) == ""
    assert node.listens()
    assert idle - node.available_bytes() > 100 * 10**6
    assert "ghost-leaders" in cell.finds(node.findings())
    is_healed(node, cell, node.heal("recover"))
    assert idle - node.available_bytes() < 30 * 10**6
    cell.verified("no process, port free, its memory back in MemAvailable")


@pytest.mark.matrix
def test_ranks_that_ignore_sigterm_beside_one_that_is_dead(node, cell):
    node.serve(DEEP_FAULT="stubborn")
    first, second = (one.pid for one in node.ranks())
    node.kill(first, number=signal.SIGTERM)
    node.kill(second)
    node.until(lambda: {one.state for one in node.ranks()} == {"S", "Z"})
    assert "ranks-dead" in cell.finds(node.findings())
    is_healed(node, cell, node.heal())


def test_orphans_under_pid_1_and_what_they_leave_in_shared_memory(node, cell):
    node.start("python3 /opt/sglang/stranger.py", "mapped")
    node.serve()
    node.kill(node.launcher())
    node.until(lambda: {one.ppid for one in node.ranks()} == {1})
    assert len(node.posix_segments()) == 5
    assert sorted(node.sysv_segments()) == [0x5600, 0x5601]
    assert "orphans" in cell.finds(node.findings())
    is_healed(node, cell, node.heal())
    assert node.posix_segments() == ["psm_stranger"]
    assert node.sysv_segments() == []
    assert [one.comm for one in node.processes()] == ["python3"]
    cell.verified("its segments gone, a stranger's and its process untouched")


@pytest.mark.matrix
def test_a_loop_that_starts_it_again(node, cell):
    flags = "--model-path /models/small --tp 2 --port 30000"
    node.sh("printf '%s\n' \"$1\" > /root/serve.sh", LOOP.format(flags=flags))
    node.start("sh /root/serve.sh", "ready")
    node.kill(node.launcher(), *(one.pid for one in node.ranks()))
    node.until(lambda: node.listens() and len(node.ranks()) == 2)
    cell.finds(node.findings())
    is_healed(node, cell, node.heal())
    assert node.processes() == []
    cell.verified("it stays down, the loop is gone")


@pytest.mark.matrix
def test_a_port_that_somebody_else_holds(node, cell):
    """It is told, and nobody's process is ended for it."""
    node.start("python3 -u -m http.server 30000", "Serving")
    [holder] = node.processes()
    probed = node.probe()["findings"]
    cell.finds({one["check"] for one in probed})
    [told] = [one["evidence"] for one in probed if one["check"] == "port-held"]
    assert str(holder.pid) in told
    ran = node.heal()
    cell.ended(ran)
    assert ran.status == 0, ran.stderr
    assert changes(ran.json) == []
    assert node.processes() == [holder]
    assert node.listens()
    cell.verified("the holder named, and untouched")
