"""Each way of breaking: healed by the smallest rung that works, or refused for the right reason."""

import shutil
import time

import pytest

from fleetops.lab.breakages.base import BrokenNode

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]


def resets(fleet, result):
    return [change for change in fleet.changes(result) if "fleetops-reset-gpus" in change]


@pytest.mark.parametrize("kind", ["zombies", pytest.param("ghost-leader", marks=pytest.mark.long)])
def test_dead_ranks_need_no_reset(fleet, kind):
    fleet.break_node(kind)
    ran = fleet.fleetops("recover", "node-174", "--yes", "--json", "--no-relaunch")
    assert ran.status == 0, ran.stderr
    assert all(row["ok"] for row in ran.json["reclaimed"])
    assert resets(fleet, ran.json) == []


def test_a_ghost_leader_holds_the_port_until_its_threads_are_killed(fleet):
    fleet.break_node("ghost-leader")
    observation = fleet.look()
    ghosts = [one for one in observation.node_facts.readings["processes"] if one.is_ghost_leader]
    assert ghosts
    assert any(
        ghost.pid in listener.owners
        for ghost in ghosts
        for listener in observation.node_facts.readings["listeners"]
    )
    assert fleet.fleetops("kill", "node-174", "--yes").status == 0
    after = fleet.look()
    assert not any(one.is_ghost_leader for one in after.node_facts.readings["processes"])
    assert 30000 not in {listener.port for listener in after.node_facts.readings["listeners"]}


def test_gpu_memory_without_an_owner_is_freed_by_a_reset_on_the_hypervisor_alone(fleet):
    fleet.break_node("gpu-memory-held")
    refused = fleet.fleetops("launch", "--profile", "hicache48", "node-174", "--yes", "--json")
    assert refused.status == 5
    ran = fleet.fleetops("reset-gpus", "node-174", "--yes", "--json")
    assert ran.status == 0, ran.stderr
    [reset] = resets(fleet, ran.json)
    assert reset[0] == "pve-01"
    gpus = fleet.look().node_facts.readings["gpus"].gpus
    assert sum(gpu.memory_used_bytes for gpu in gpus) < 2**30


def test_persistence_mode_is_as_it_was_after_a_reset(fleet):
    fleet.run("pve-01", "nvidia-smi", "-pm", "1")
    fleet.break_node("gpu-memory-held")
    before = persistence(fleet)
    assert any(before.values())
    assert fleet.fleetops("reset-gpus", "node-174", "--yes").status == 0
    assert persistence(fleet) == before


def persistence(fleet):
    return {gpu.uuid: gpu.persistence for gpu in fleet.look().hypervisor_facts.readings["gpus"].gpus}


def test_the_neighbours_gpus_are_never_named_in_a_reset(fleet):
    fleet.break_node("gpu-memory-held")
    result = fleet.fleetops("recover", "node-174", "--yes", "--json", "--no-relaunch").json
    theirs = {gpu.uuid for gpu in fleet.look("node-175").node_facts.readings["gpus"].gpus}
    assert len(theirs) == 2
    [reset] = resets(fleet, result)
    assert not theirs.intersection(",".join(reset[-3:-1]).split(","))


def test_a_locked_guest_is_refused_and_nothing_is_changed_on_the_hypervisor(fleet):
    fleet.break_node("guest-locked")
    ran = fleet.fleetops("recover", "node-174", "--yes", "--json")
    assert ran.status == 5
    told = ran.error if ran.stderr.strip().startswith("{") else ran.json
    assert told["guard"] == "proxmox-lock"
    assert "backup" in (told.get("message") or told.get("why"))
    held = fleet.look().node_facts.readings["gpus"].gpus
    assert sum(gpu.memory_used_bytes for gpu in held) > 2**30
    assert "backup" in fleet.run("pve-01", "pct", "config", "174")


LOOP = """
cat > /root/serve.sh <<'END'
while true; do
    SGLANG_LAB_PACE=0.2 python3 -m sglang.launch_server --model-path /models/example --tp 8 --port 30000 \\
        --enable-hierarchical-cache --hicache-size 48 --mem-fraction-static 0.88 > /root/serve.log 2>&1
    sleep 0.2
done
END
"""
STARTED_BY = {
    "sh": "setsid sh /root/serve.sh > /dev/null 2>&1 < /dev/null &",
    "tmux": "tmux new-session -d -s work 'trap : HUP; exec sh /root/serve.sh'",
}


@pytest.fixture
def restarted_by_a_loop(fleet, request):
    if request.param == "tmux" and not shutil.which("tmux"):
        pytest.skip("a loop in tmux needs tmux on this machine")
    BrokenNode(fleet.lab.folder, "node-174").clear()
    fleet.run("node-174", "sh", "-c", LOOP + STARTED_BY[request.param])
    for _ in range(100):
        if [len(service.ranks) for service in fleet.look().services] == [8]:
            break
        time.sleep(0.1)
    yield
    fleet.run("node-174", "sh", "-c", "pkill -f '[s]erve.sh' || true")
    BrokenNode(fleet.lab.folder, "node-174").clear()


@pytest.mark.parametrize("restarted_by_a_loop", ["sh"], indirect=True)
def test_a_loop_is_ended_first_and_the_service_stays_down(fleet, restarted_by_a_loop):
    ran = fleet.fleetops("kill", "node-174", "--yes", "--json")
    assert ran.status == 0, ran
    signals = [change[5:] for change in fleet.changes(ran.json) if "fleetops-signal" in change]
    assert signals[0][0] == "TERM"
    assert len(signals[0]) == 2, "the shell alone, before anything of the service"
    table = fleet.look().node_facts.readings["processes"]
    assert not [one for one in table if "serve.sh" in one.title or "sglang" in one.title]


@pytest.mark.long
@pytest.mark.parametrize("restarted_by_a_loop", ["tmux"], indirect=True)
def test_a_service_that_a_loop_keeps_is_relaunched_without_it(fleet, restarted_by_a_loop):
    # Whole and serving it would be left alone: one of its ranks is dead, and the launcher hangs.
    [service] = fleet.look().services
    fleet.run("node-174", "kill", "-STOP", str(service.launcher.pid))
    fleet.run("node-174", "kill", "-KILL", str(service.ranks[0].process.pid))
    planned = fleet.fleetops("recover", "node-174", "--dry-run")
    assert "sh /root/serve.sh" in planned.stdout, planned
    assert "tmux session work" in planned.stdout
    ran = fleet.fleetops("recover", "node-174", "--yes", "--json")
    assert ran.status == 0, ran
    [service] = fleet.look().services
    assert len(service.ranks) == 8
    assert fleet.generates()
    assert not [one for one in fleet.look().node_facts.readings["processes"] if "serve.sh" in one.title]
