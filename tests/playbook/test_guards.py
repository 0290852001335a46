"""Each guard: holds on a node where it must, refuses where it must, and refuses where its facts are missing."""

from dataclasses import replace

import pytest
from node_scenes import HYPERVISOR, NODE, gpus, hypervisor_readings, missing, observe

from fleetops.model.gpu import GPUS, Gpus
from fleetops.model.guest import (
    CLAIMS,
    GUEST,
    GUESTS,
    HOST_HOLDERS,
    TASKS,
    DeviceClaim,
    GuestEntry,
    GuestState,
    HostHolder,
    Task,
)
from fleetops.model.machine import IDENTITY, Identity
from fleetops.platforms import all_platforms
from fleetops.playbook.guards import objection, refusal

GUEST_174 = GuestState(
    kind="lxc", id=174, status="running", config={"hostname": "node-174"}, init_pid=9, machine_id="5e0c"
)
OURS = DeviceClaim(guest_id=174, kind="lxc", minors=tuple(range(8)))
NEIGHBOUR = DeviceClaim(guest_id=175, kind="lxc", minors=(8, 9))
ENTRIES = (
    GuestEntry(kind="lxc", id=174, name="node-174", status="running"),
    GuestEntry(kind="lxc", id=175, name="node-175", status="running"),
)
HOLDER = HostHolder(pid=51, comm="python3", path="/dev/nvidia8", guest_id=175)


def scene(node=NODE, facts=None, **on_hypervisor):
    readings = {
        **hypervisor_readings(),
        GUEST: GUEST_174,
        GUESTS: ENTRIES,
        TASKS: (),
        CLAIMS: (OURS, NEIGHBOUR),
        HOST_HOLDERS: (HOLDER,),
    }
    named = {
        "guest": GUEST,
        "guests": GUESTS,
        "tasks": TASKS,
        "claims": CLAIMS,
        "holders": HOST_HOLDERS,
        "gpus": GPUS,
    }
    readings.update({named[name]: value for name, value in on_hypervisor.items()})
    return observe(node=node, facts=facts or {}, on_hypervisor=readings)


LXC = all_platforms()["lxc"]


@pytest.mark.parametrize("name", sorted({*LXC.guards, *LXC.power_guards}))
def test_every_guard_holds_on_the_incidents_node(name):
    assert refusal(name, scene()) == ""


def answering(machine_id: str, hostname: str = "node-174"):
    return {IDENTITY: Identity(hostname=hostname, machine_id=machine_id, boot_id="b", uptime_s=1)}


@pytest.mark.parametrize(
    ("guard", "observation", "told"),
    [
        ("identity", scene(facts=answering("other")), "is not the machine that answers as node-174"),
        ("identity", scene(node=replace(NODE, machine_id="recorded")), "recorded is recorded"),
        ("identity", scene(facts=answering("5e0c", "node-999")), "the node calls itself node-999"),
        ("identity", scene(guest=replace(GUEST_174, machine_id="")), "could not be read"),
        ("identity", scene(facts={IDENTITY: missing()}), "its identity could not be read on node-174"),
        ("identity", scene(guest=missing()), "the guest could not be read on pve-01"),
        ("protected", scene(node=replace(NODE, protected=True)), "node-174 is protected"),
        (
            "proxmox-lock",
            scene(guest=replace(GUEST_174, lock="backup")),
            "locked by Proxmox (backup) on pve-01",
        ),
        ("proxmox-lock", scene(guest=missing()), "could not be read"),
        ("proxmox-task", scene(tasks=(Task(upid="UPID:1", type="vzdump", id="174"),)), "vzdump (UPID:1)"),
        ("proxmox-task", scene(tasks=missing()), "could not be read"),
        ("ha", scene(guests=(replace(ENTRIES[0], ha_state="started"),)), "managed by HA (state started)"),
        ("ha", scene(guests=()), "not in the list of guests"),
        ("ha", scene(guests=missing()), "could not be read"),
        (
            "tenants",
            scene(claims=(OURS, replace(NEIGHBOUR, minors=(7,)))),
            "guest 175 is running and has GPU 7",
        ),
        (
            "tenants",
            scene(claims=(OURS, replace(NEIGHBOUR, minors=None))),
            "guest 175 is running and has GPU 0, 1",
        ),
        (
            "tenants",
            scene(holders=(replace(HOLDER, path="/dev/nvidia3"),)),
            "of guest 175 holds /dev/nvidia3",
        ),
        (
            "tenants",
            scene(holders=(HostHolder(pid=7, comm="dcgm", path="/dev/nvidia0", guest_id=None),)),
            "the host itself",
        ),
        ("tenants", scene(holders=missing()), "could not be read"),
        ("tenants", scene(claims=missing()), "could not be read"),
        ("tenants", scene(claims=(NEIGHBOUR,)), "is not known"),
        ("display", scene(gpus=missing()), "could not be read"),
        ("mig", scene(gpus=missing()), "could not be read"),
    ],
)
def test_a_guard_refuses_with_its_reason(guard, observation, told):
    assert told in refusal(guard, observation)


BACKUP = Task(upid="UPID:1", type="vzdump", id="174", user="root@pam")


@pytest.mark.parametrize(
    ("guard", "observation", "told"),
    [
        ("identity", scene(facts=answering("other")), "see who answers: fleetops run node-174 -- hostname"),
        ("identity", scene(facts={IDENTITY: missing()}), "fleetops probe node-174"),
        (
            "ha",
            scene(guests=(replace(ENTRIES[0], ha_state="started"),)),
            "fleetops run pve-01 -- ha-manager set ct:174 --state ignored",
        ),
        ("ha", scene(guests=()), "fleetops probe node-174"),
        (
            "proxmox-lock",
            scene(guest=replace(GUEST_174, lock="backup"), tasks=(BACKUP,)),
            "wait for vzdump of root@pam to end (fleetops run pve-01 -- pvesh get",
        ),
        (
            "proxmox-lock",
            scene(guest=replace(GUEST_174, lock="backup")),
            "a person looks: fleetops run pve-01 -- pct config 174",
        ),
        ("proxmox-task", scene(tasks=(BACKUP,)), "wait for vzdump of root@pam to end"),
        (
            "tenants",
            scene(claims=(OURS, replace(NEIGHBOUR, minors=(7,)))),
            "see what guest 175 (node-175) has: fleetops run pve-01 -- pct config 175",
        ),
        ("tenants", scene(claims=missing()), "fleetops probe node-174"),
        ("protected", scene(node=replace(NODE, protected=True)), "fleetops probe node-174"),
    ],
)
def test_a_refusal_says_what_to_do_about_it(guard, observation, told):
    refused = objection(guard, observation)
    assert (refused.guard, refused.host) == (guard, "node-174")
    assert told in refused.hint


def test_the_task_behind_a_lock_is_named():
    seen = scene(guest=replace(GUEST_174, lock="backup"), tasks=(BACKUP,))
    assert refusal("proxmox-lock", seen).endswith("(backup) on pve-01; running: vzdump (UPID:1)")


def with_first_gpu(**fields):
    seen = gpus(10)
    first, *others = seen.gpus
    return Gpus(driver_version=seen.driver_version, gpus=(replace(first, **fields), *others))


def test_a_display_or_mig_on_one_of_the_nodes_gpus_refuses():
    assert "a display is active" in refusal("display", scene(gpus=with_first_gpu(display_active=True)))
    assert "MIG is on" in refusal("mig", scene(gpus=with_first_gpu(mig=True)))


def test_the_neighbours_own_gpus_are_the_neighbours_business():
    seen = gpus(10)
    last = replace(seen.gpus[-1], mig=True, display_active=True)
    shown = Gpus(driver_version=seen.driver_version, gpus=(*seen.gpus[:-1], last))
    assert refusal("mig", scene(gpus=shown)) == ""
    assert refusal("display", scene(gpus=shown)) == ""


def test_a_stopped_neighbour_that_is_configured_with_the_same_gpu_does_not_count():
    stopped = (ENTRIES[0], replace(ENTRIES[1], status="stopped"))
    assert (
        refusal("tenants", scene(guests=stopped, claims=(OURS, replace(NEIGHBOUR, minors=(7,))), holders=()))
        == ""
    )


def test_a_protected_hypervisor_protects_its_guests():
    observation = replace(scene(), hypervisor=replace(HYPERVISOR, protected=True))
    assert refusal("protected", observation) == "pve-01 is protected in the inventory"


def test_without_a_hypervisor_nothing_about_it_is_taken_for_granted():
    observation = replace(scene(), hypervisor_facts=None)
    for guard in ("identity", "proxmox-lock", "proxmox-task", "ha", "tenants", "display", "mig"):
        assert refusal(guard, observation)
