"""Each breakage leaves the node as it says, whatever state the node was in, and touches nobody else."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fleetops.lab.api import Lab, break_node
from fleetops.lab.breakages import Breakage, all_breakages, breakage
from fleetops.lab.breakages.base import BrokenNode, ghosts, launchers, ranks_of, zombies
from fleetops.lab.control import run_in
from fleetops.model.errors import UsageError

NODE = "node-174"
OOM_KILL = "] Out of memory: Killed process "


@pytest.fixture
def folder(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SGLANG_LAB_PACE", "0.2")
    return lab.folder


@pytest.fixture
def node(folder: Path) -> Iterator[BrokenNode]:
    node = BrokenNode(folder, NODE)
    yield node
    node.clear()


def available_gb(node: BrokenNode) -> float:
    return int(re.search(r"MemAvailable: +(\d+)", node.run("cat", "/proc/meminfo"))[1]) * 1024 / 1e9


def used_mib(node: BrokenNode) -> list[int]:
    table = node.run("nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits")
    return [int(line) for line in table.split()]


def port_is_listened_on(node: BrokenNode) -> bool:
    return bool(re.search(r":7530 \w+:\w+ 0A ", node.run("cat", "/proc/net/tcp")))


def on_hypervisor(folder: Path, *argv: str) -> str:
    return run_in(folder, "pve-01", argv).stdout


def test_the_kinds_are_found_by_their_folder() -> None:
    found = [each.name for each in all_breakages()]
    assert found == sorted(found)
    assert {"per-rank-trap", "zombies", "guest-locked"} <= set(found)


@pytest.mark.parametrize("each", all_breakages(), ids=lambda each: each.name)
def test_each_says_in_a_line_what_it_is_and_at_length_what_happens(each: Breakage) -> None:
    assert 20 < len(each.summary) < 110
    assert len(each.explanation) > 2 * len(each.summary)
    assert each.explanation.endswith(".")
    assert each.platforms
    assert set(each.platforms) <= {"lxc", "vm", "bare"}


def test_what_cannot_happen_to_a_node_is_refused_with_the_nodes_to_which_it_can(lab: Lab) -> None:
    with pytest.raises(
        UsageError, match="guest-locked cannot happen to node-190, which is bare metal"
    ) as refusal:
        break_node(lab.folder, "node-190", "guest-locked")
    assert "node-174" in refusal.value.hint
    assert "node-190" not in refusal.value.hint


def test_an_unknown_kind_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError) as refusal:
        breakage("zombie")
    assert refusal.value.hint == "did you mean zombies?"


@pytest.mark.lab
def test_per_rank_trap_is_the_incident(node: BrokenNode, folder: Path) -> None:
    node.clear()
    killed_earlier = node.run("dmesg", "-T").count(
        OOM_KILL
    )  # in other guests: the kernel's log is theirs as well
    breakage("per-rank-trap").apply(folder, NODE)
    seen = node.look()
    assert len(launchers(seen)) == 1
    ranks = ranks_of(seen)
    assert (len(zombies(ranks)), len(ghosts(ranks)), [each.state for each in ranks].count("D")) == (5, 2, 1)
    assert 9 < available_gb(node) < 10
    assert all(used > 90_000 for used in used_mib(node))
    assert port_is_listened_on(node)
    assert "--hicache-size 300" in node.run("ps", "-eo", "args")
    assert node.run("cat", "/root/sglang.log").count("Allocating 300.00 GB host memory") == 8
    for told in (node.run("dmesg", "-T"), on_hypervisor(folder, "dmesg", "-T")):
        assert told.count(OOM_KILL) - killed_earlier == 5


@pytest.mark.lab
def test_zombies_leave_memory_free_and_a_launcher_that_does_not_answer(
    node: BrokenNode, folder: Path
) -> None:
    breakage("zombies").apply(folder, NODE)
    seen = node.look()
    assert (len(launchers(seen)), len(zombies(seen))) == (1, 8)
    assert all(used < 10 for used in used_mib(node))
    assert available_gb(node) > 444
    node.run("kill", "-TERM", str(launchers(seen)[0].pid))
    node.await_that(
        lambda: "Remaining number of requests 1." in node.run("cat", "/root/sglang.log"), "it did not drain"
    )
    assert len(launchers(node.look())) == 1, "it waits for an answer that will not come"


@pytest.mark.lab
def test_ghost_leader_holds_memory_and_port_without_a_launcher(node: BrokenNode, folder: Path) -> None:
    breakage("ghost-leader").apply(folder, NODE)
    (ghost,) = node.look()
    assert (ghost.state, ghost.ppid) == ("Z", 1)
    assert ghost.threads > 0
    assert [used > 90_000 for used in used_mib(node)] == [True, *[False] * 7]
    assert available_gb(node) < 445 - 48
    assert port_is_listened_on(node)


@pytest.mark.lab
def test_gpu_memory_held_has_no_process_and_goes_with_a_reset(node: BrokenNode, folder: Path) -> None:
    breakage("gpu-memory-held").apply(folder, NODE)
    assert node.look() == []
    assert [minor for minor, used in enumerate(used_mib(node)) if used > 90_000] == [1, 4, 7]
    on_hypervisor(folder, "nvidia-smi", "-pm", "0", "-i", "1,4,7")
    on_hypervisor(folder, "nvidia-smi", "--gpu-reset", "-i", "1,4,7")
    on_hypervisor(folder, "nvidia-smi", "-pm", "1", "-i", "1,4,7")
    assert all(used < 10 for used in used_mib(node))


@pytest.mark.lab
def test_guest_locked_is_a_backup_that_runs(node: BrokenNode, folder: Path) -> None:
    breakage("guest-locked").apply(folder, NODE)
    assert re.search(r"^174 +running +backup +node-174", on_hypervisor(folder, "pct", "list"), re.MULTILINE)
    asked = ("pvesh", "get", "/nodes/pve-01/tasks", "--source", "active", "--output-format", "json")
    (task,) = [each for each in json.loads(on_hypervisor(folder, *asked)) if "endtime" not in each]
    assert (task["type"], task["id"]) == ("vzdump", "174")
    assert task["upid"] in on_hypervisor(folder, "ps", "-eo", "args")
    assert any(used > 90_000 for used in used_mib(node))
    node.backup("end")
    assert "backup" not in on_hypervisor(folder, "pct", "list")


@pytest.mark.lab
def test_a_node_can_be_broken_from_any_state(node: BrokenNode, folder: Path) -> None:
    for kind in ("guest-locked", "zombies", "gpu-memory-held"):
        breakage(kind).apply(folder, NODE)
    assert node.look() == []
    assert [minor for minor, used in enumerate(used_mib(node)) if used > 90_000] == [1, 4, 7]
    assert "backup" not in on_hypervisor(folder, "pct", "list")
    node.clear()
    assert all(used < 10 for used in used_mib(node))
    assert available_gb(node) > 444.9
    assert node.run("ls", "/dev/shm").split() == []


@pytest.mark.lab
def test_nobody_else_is_touched(node: BrokenNode, folder: Path) -> None:
    neighbour = BrokenNode(folder, "node-175")
    neighbour.await_ready()

    def ticks() -> int:
        return int(node.run("cat", "/root/bystander.count"))

    def service() -> list[tuple[int, str]]:
        return [(each.pid, each.comm) for each in neighbour.look()]

    before, running = ticks(), service()
    breakage("per-rank-trap").apply(folder, NODE)
    node.clear()
    assert ticks() > before
    assert service() == running
    assert [comm for _, comm in running].count("sglang::schedul") == 2


@pytest.mark.lab
def test_a_relaunch_by_another_hand_comes_up_healthy(node: BrokenNode, folder: Path) -> None:
    breakage("per-rank-trap").apply(folder, NODE)
    node.clear()
    line = (
        "env -u HOME setsid python3 -m sglang.launch_server --model-path /models/example --tp 8 --port 30000"
    )
    flags = "--enable-hierarchical-cache --hicache-size 48 --mem-fraction-static 0.88"
    node.run("sh", "-c", f"{line} {flags} > /root/sglang.log 2>&1 < /dev/null &")
    node.await_ready()
    assert "max_total_num_tokens=231120" in node.run("cat", "/root/sglang.log")
    assert 51 < available_gb(node) < 54
