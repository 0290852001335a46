"""A VM: who shares its devices, who it is, when it is down, and how long its start may take."""

from dataclasses import replace

import pytest
from machines import GUEST_181, MACHINE_ID, OURS, VM, claim, identity, own_gpus, silent, vm
from node_scenes import memory, missing

from fleetops.model.gpu import GPUS
from fleetops.model.guest import AGENT, ARC, CLAIMS, GUEST, PENDING, Arc, PendingChange
from fleetops.model.machine import IDENTITY, MEMORY
from fleetops.model.units import GB
from fleetops.platforms import all_platforms
from fleetops.playbook.guards import refusal

PLATFORM = all_platforms()["vm"]


def silent_vm(node, beside=None):
    return silent(vm(node=node, beside=beside))


RECORDED = replace(VM, machine_id=MACHINE_ID)


@pytest.mark.parametrize("name", sorted({*PLATFORM.guards, *PLATFORM.power_guards}))
def test_every_guard_holds_on_a_vm_of_its_own(name):
    assert refusal(name, vm()) == ""


@pytest.mark.parametrize("name", PLATFORM.power_guards)
def test_a_silent_vm_is_known_by_its_agent_and_may_be_started_anew(name):
    assert refusal(name, silent_vm(RECORDED)) == ""


@pytest.mark.parametrize(
    ("guard", "observation", "told"),
    [
        ("tenants", vm(beside={CLAIMS: (OURS, claim(182, "0000:4f:00"))}), "guest 182 is running and has 0000:4f:00.0"),
        ("tenants", vm(beside={CLAIMS: (OURS, claim(182, "0000:50:00.1"))}), "guest 182 is running and has 0000:50:00"),
        ("tenants", vm(beside={CLAIMS: (OURS, claim(183, reserved=("0000:4f:00.0",)))}), "guest 183 has taken 0000:4f:00.0"),
        (
            "tenants",
            vm(beside={CLAIMS: (OURS, claim(182, unresolved=("mapping=more",), minors=None))}),
            "nothing tells what mapping=more of it stands for",
        ),
        (
            "tenants",
            vm(beside={CLAIMS: (replace(OURS, addresses=(), unresolved=("mapping=gpus",), minors=None),)}),
            "nothing tells what mapping=gpus stands for",
        ),
        (
            "tenants",
            vm(beside={CLAIMS: (replace(OURS, minors=(2,)), claim(182, kind="lxc", minors=(2, 3)))}),
            "guest 182 is running and has a GPU of node-181 through the host's driver",
        ),
        ("tenants", vm(beside={CLAIMS: ()}), "its configuration names none"),
        ("tenants", vm(beside={CLAIMS: missing()}), "could not be read on pve-01"),
        ("vgpu", vm(beside={CLAIMS: (replace(OURS, vgpu=True),)}), "has a vGPU"),
        ("display", vm(facts={GPUS: own_gpus(display_active=True)}), "a display is active"),
        ("mig", vm(facts={GPUS: own_gpus(mig=True)}), "MIG is on"),
        ("mig", vm(facts={GPUS: replace(own_gpus(), problems=("GPU is lost",))}), "does not tell of every GPU"),
        ("mig", vm(facts={GPUS: replace(own_gpus(), gpus=own_gpus().gpus[:1])}), "reports 1 of the 2 GPUs"),
        ("identity", vm(beside={AGENT: "f" * 32}), "is not the machine that answers as node-181"),
        ("identity", vm(node=RECORDED, facts={IDENTITY: identity(machine_id="f" * 32)}), "another machine answers"),
        ("identity", silent_vm(VM), "no machine-id was ever recorded"),
        ("identity", silent_vm(RECORDED, beside={AGENT: missing()}), "could not be read"),
        ("identity", silent_vm(RECORDED, beside={AGENT: "f" * 32}), "is not node-181"),
        ("guest-identity", vm(beside={AGENT: missing()}), "machine-id of guest 181 on pve-02 could not be read"),
        ("guest-identity", vm(facts={IDENTITY: missing()}), "the node's is not recorded"),
        (
            "pending",
            vm(beside={PENDING: (PendingChange(key="memory", now="65536", then="131072"),)}),
            "memory is to be 131072 (now 65536)",
        ),
        ("pending", vm(beside={PENDING: (PendingChange(key="net1", now="virtio", then=None),)}), "net1 (virtio) is to go"),
        ("pending", vm(beside={PENDING: missing()}), "could not be read"),
        (
            "host-memory",
            vm(beside={GUEST: replace(GUEST_181, held_bytes=40 * GB), MEMORY: memory(20)}),
            "takes 68.7 GB when it starts, and node-181".replace("node-181", "pve-02"),
        ),
        ("host-memory", vm(beside={GUEST: replace(GUEST_181, config={"name": "node-181"})}), "is not known"),
    ],
)  # fmt: skip
def test_a_guard_refuses_with_its_reason(guard, observation, told):
    assert told in refusal(guard, observation)


@pytest.mark.parametrize(
    "others",
    [
        (claim(183, "0000:4f:00.0"),),
        (claim(182, "0000:51:00.0"),),
        (claim(182, "0000:51:00.0", unresolved=("mapping=more",), reserved=("0000:51:00.0",)),),
        (claim(182, kind="lxc", minors=None),),
    ],
    ids=["stopped", "other devices", "what it has taken is known", "the host's driver has none of ours"],
)
def test_guests_that_share_nothing_stand_in_nobodys_way(others):
    assert refusal("tenants", vm(beside={CLAIMS: (OURS, *others)})) == ""


def test_zfs_gives_memory_back_to_a_start():
    short = {GUEST: replace(GUEST_181, held_bytes=0), MEMORY: memory(60)}
    assert "60 GB available, 0 GB of ZFS's cache" in refusal("host-memory", vm(beside=short))
    cache = Arc(size_bytes=16 * GB, least_bytes=4 * GB)
    assert refusal("host-memory", vm(beside={**short, ARC: cache})) == ""


@pytest.mark.parametrize(
    ("config", "seconds"),
    [
        ({"memory": "16384"}, 150 + 60),
        ({"memory": "459776", "hostpci0": "01:00", "net0": "x"}, 4 * 449 + 5 + 60),
        ({"memory": "current=459776"}, 449 + 60),
        ({}, 150 + 60),
    ],
    ids=["small", "449 GiB with passthrough", "449 GiB without", "not told"],
)
def test_a_start_gets_the_time_that_proxmox_gives_it(config, seconds):
    observation = vm(beside={GUEST: replace(GUEST_181, config=config)})
    assert PLATFORM.power.start_deadline_s(observation) == seconds
    start = PLATFORM.power.start(observation)
    assert (start.host, start.command.argv) == ("pve-02", ("qm", "start", "181"))
    assert start.command.deadline_s == seconds


@pytest.mark.parametrize(
    ("guest", "why"),
    [
        (replace(GUEST_181, status="stopped", init_pid=None), ""),
        (replace(GUEST_181, status="stopped"), "kvm is still there (pid 5120), and Proxmox calls it stopped"),
        (replace(GUEST_181, status="paused", init_pid=None), "Proxmox calls it paused"),
        (missing(), "the guest could not be read on pve-02"),
    ],
)
def test_a_vm_is_down_when_its_emulator_is_gone(guest, why):
    told = PLATFORM.power.is_down(vm(beside={GUEST: guest}))
    assert told.startswith(why)
    assert bool(told) == bool(why)


def test_the_reset_is_issued_in_the_guest():
    gpus = own_gpus(persistence=True).gpus
    action = PLATFORM.reset(vm(), gpus[:1])
    assert action.host == "node-181"
    assert action.command.argv[3:] == ("fleetops-reset-gpus", "GPU-0", "GPU-0", "/run/fleetops")
