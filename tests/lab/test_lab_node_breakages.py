"""Breakages of a node's own: what each leaves, real processes and real signals, and that clearing undoes it wholly."""

import signal
import time
from collections.abc import Iterator

import pytest

from fleetops.lab.api import Lab
from fleetops.lab.breakages import breakage
from fleetops.lab.breakages.base import LOG, BrokenNode, launchers, ranks_of, zombies
from fleetops.lab.breakages.orphans import are_orphaned
from fleetops.lab.breakages.port_held import is_listened_on
from fleetops.lab.breakages.respawning import loops
from fleetops.lab.breakages.shm import living_segments, segments
from fleetops.lab.paths import Layout
from fleetops.store.database import Store

pytestmark = pytest.mark.lab

NODE = "node-190"
GB = 10**9


@pytest.fixture
def node(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[BrokenNode]:
    monkeypatch.setenv("SGLANG_LAB_PACE", "0.1")
    monkeypatch.setenv("FLEETOPS_LAB_RECLAIM_S", "0.5")
    node = BrokenNode(lab.folder, NODE)
    yield node
    node.clear()
    assert is_pristine(node)


def is_pristine(node: BrokenNode) -> bool:
    """Nothing runs, nothing is held, nothing lies about, and the next service is in order."""
    assert node.look() == []
    assert segments(node) == []
    assert all(mib < 10 for mib in used_mib(node))
    assert not is_listened_on(node)
    assert available(node) >= node.host.idle_bytes - GB // 10
    assert "tmpfs" not in node.run("sh", "-c", "grep /var/log /proc/mounts || true")
    assert (
        not (set(node.run("ls", "/run/lab").split()) & {"broken"}) or node.run("ls", "/run/lab/broken") == ""
    )
    return True


def available(node: BrokenNode) -> int:
    return int(node.run("awk", "/^MemAvailable:/ { print $2 }", "/proc/meminfo")) * 1024


def used_mib(node: BrokenNode) -> list[int]:
    table = node.run("nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits")
    return [int(line) for line in table.split()]


def end(node: BrokenNode, name: str, seen: list) -> None:
    node.run("kill", f"-{name}", *(str(each.pid) for each in seen))


def test_stubborn_ranks_ignore_sigterm_and_heed_sigkill(node: BrokenNode, lab: Lab) -> None:
    breakage("stubborn").apply(lab.folder, NODE)
    ranks = ranks_of(node.look())
    assert (len(ranks), len(zombies(ranks))) == (2, 1)
    (living,) = (each for each in ranks if each.state != "Z")
    ignored = int(node.run("awk", "/^SigIgn:/ { print $2 }", f"/proc/{living.pid}/status"), 16)
    assert ignored >> (signal.SIGTERM - 1) & 1
    end(node, "TERM", [living])
    assert living.pid in {each.pid for each in ranks_of(node.look()) if each.state != "Z"}
    end(node, "KILL", launchers(node.look()))
    assert living.pid in {each.pid for each in node.look()}
    end(node, "KILL", [living])
    node.await_that(lambda: node.look() == [], "SIGKILL did not end it")


def test_orphans_hold_every_gpu_under_pid_1_and_heed_sigterm(node: BrokenNode, lab: Lab) -> None:
    breakage("orphans").apply(lab.folder, NODE)
    assert are_orphaned(node)
    assert all(mib > 60_000 for mib in used_mib(node))
    assert not is_listened_on(node)
    end(node, "TERM", node.look())
    node.await_that(lambda: node.look() == [], "SIGTERM did not end them")
    assert all(mib < 10 for mib in used_mib(node))


def test_shm_is_what_a_dead_service_left_beside_what_a_living_process_has(node: BrokenNode, lab: Lab) -> None:
    breakage("shm").apply(lab.folder, NODE)
    assert node.look() == []
    theirs = living_segments(node)
    left = sorted(set(segments(node)) - set(theirs))
    assert [name.split("_")[0].split("-")[0] for name in left] == ["nccl", "nccl", "psm", "sgl"]
    mapped, named = sorted(theirs)
    owner = named.split("_")[3]
    assert mapped in node.run("cat", f"/proc/{owner}/maps")
    assert named not in node.run("cat", f"/proc/{owner}/maps")


def test_port_held_is_a_listener_that_no_engine_knows(node: BrokenNode, lab: Lab) -> None:
    breakage("port-held").apply(lab.folder, NODE)
    assert is_listened_on(node)
    assert node.look() == []
    assert "http.server 30000" in node.run("ps", "-eo", "args")


def test_a_respawning_service_comes_back_when_it_is_only_killed(node: BrokenNode, lab: Lab) -> None:
    breakage("respawning").apply(lab.folder, NODE)
    before = launchers(node.look())
    (loop,) = loops(node)
    assert len(zombies(node.look())) == 2
    end(node, "KILL", node.look())
    node.await_that(lambda: launchers(node.look()) not in ([], before), "nobody started it again")
    assert loops(node) == [loop]


def test_slow_reclaim_is_memory_that_outlives_every_process(
    node: BrokenNode, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEETOPS_LAB_RECLAIM_S", "1.5")
    breakage("slow-reclaim").apply(lab.folder, NODE)
    assert are_orphaned(node)
    end(node, "KILL", node.look())
    node.await_that(lambda: node.look() == [], "they did not die")
    assert all(mib < 10 for mib in used_mib(node)), "the GPUs are free at once"
    assert available(node) < node.host.idle_bytes - 39 * GB
    node.await_that(lambda: available(node) > node.host.idle_bytes - GB, "the memory did not come back")


def test_a_full_disk_takes_no_byte_more(node: BrokenNode, lab: Lab) -> None:
    breakage("full-disk").apply(lab.folder, NODE)
    assert "No space left" in node.run("sh", "-c", "cp /etc/hostname /var/log/more 2>&1 || true")
    assert node.run("sh", "-c", "df -Pk /var/log | awk 'NR == 2 { print $4 }'").strip() == "0"
    node.clear()
    node.run("sh", "-c", "cp /etc/hostname /var/log/more; rm /var/log/more")


def test_new_baseline_forgets_how_the_idle_node_looks_and_clearing_remembers(
    node: BrokenNode, lab: Lab
) -> None:
    store = Store(Layout(lab.folder).state)
    node.clear()
    known = store.baseline("node-174")
    assert known
    store.record_baseline(NODE, time.time(), known)
    try:
        breakage("new-baseline").apply(lab.folder, NODE)
        assert store.baseline(NODE) is None
        assert len(ranks_of(node.look())) == 2
        node.clear()
        assert store.baseline(NODE) == known
    finally:
        store.forget_baseline(NODE)


@pytest.mark.parametrize(
    ("kind", "told"), [("dies-after-ready", "CUDA out of memory"), ("hangs-after-ready", "ready to roll")]
)
def test_the_next_service_goes_wrong_once_it_is_ready_and_the_one_after_does_not(
    node: BrokenNode, lab: Lab, kind: str, told: str
) -> None:
    breakage(kind).apply(lab.folder, NODE)
    assert node.look() == []
    node.serve()
    if kind == "dies-after-ready":
        node.await_that(lambda: node.look() == [], "it did not die")
    else:
        node.await_that(lambda: not generates(node), "it did not hang")
        assert len(ranks_of(node.look())) == 2
        node.kill(node.look())
        node.await_that(lambda: node.look() == [], "it did not go")
    assert told in node.run("cat", LOG)
    node.serve()
    assert generates(node)


ASK = """
import json, urllib.request
body = json.dumps({"text": "hello", "sampling_params": {"max_new_tokens": 2}}).encode()
asked = urllib.request.Request("http://127.0.0.1:30000/generate", body, {"Content-Type": "application/json"})
try:
    print(urllib.request.urlopen(asked, timeout=2).status)
except OSError as error:
    print(error)
"""


def generates(node: BrokenNode) -> bool:
    return node.run("python3", "-c", ASK) == "200\n"
