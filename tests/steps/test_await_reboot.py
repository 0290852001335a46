"""A person reboots the host: proven by its boot id and the node's machine-id, and by nothing else."""

from dataclasses import replace
from typing import Any

import pytest
from machines import GUEST_181, bare, identity, own_gpus, vm
from node_scenes import memory, missing, observe

from fleetops.model.errors import Refused, StepFailed
from fleetops.model.fact import Gap, Missing
from fleetops.model.finding import Observation
from fleetops.model.fleet import Inventory
from fleetops.model.gpu import GPUS
from fleetops.model.guest import GUEST, GUESTS, GuestEntry
from fleetops.model.machine import IDENTITY, MEMORY
from fleetops.model.units import GB
from fleetops.steps.await_reboot import STEP, plan
from fleetops.steps.support.base import Situation

HOST_ID = "f" * 32
AWAY = Missing(Gap.UNREACHABLE, "no route to host")
HOST = identity(hostname="pve-02", machine_id=HOST_ID, boot_id="h1")
HOST_ANEW = replace(HOST, boot_id="h2")
NODE_ANEW = identity(boot_id="b2")


def guest(on_node: Any = None, on_host: Any = HOST, **facts: Any) -> Observation:
    """A VM and its host, with their identities."""
    found = {
        IDENTITY: on_node or identity(),
        MEMORY: memory(60, total_bytes=64 * GB),
        **facts.pop("facts", {}),
    }
    started = replace(GUEST_181, config={**GUEST_181.config, "onboot": "1"})
    return vm(facts=found, beside={IDENTITY: on_host, GUEST: started})


BEFORE = guest()
BACK = guest(NODE_ANEW, HOST_ANEW)


def situation(observation: Observation) -> Situation:
    return Situation(
        inventory=Inventory(path=".", nodes={observation.node.name: observation.node}),  # type: ignore[arg-type]
        observation=observation,
        findings=(),
        before=observation,
        run_id="run-1",
    )


class Watch:
    """A desk that sees these observations one after the other; the last stays."""

    def __init__(self, before: Observation, *seen: Observation) -> None:
        self.situation = situation(before)
        self.seen = list(seen)
        self.memo: dict[str, Any] = {}
        self.told: list[str] = []
        self.time = 0.0

    def look(self) -> Situation:
        now = self.seen.pop(0) if len(self.seen) > 1 else self.seen[0]
        self.situation = replace(self.situation, observation=now)
        return self.situation

    def tell(self, text: str) -> None:
        self.told.append(text)

    def wait(self, seconds: float) -> None:
        self.time += seconds

    def now(self) -> float:
        return self.time


def run(watch: Watch, **options) -> str:
    return STEP.run(watch, STEP.settle(options))  # type: ignore[arg-type]


def test_a_host_that_goes_and_comes_back_with_another_boot_id_was_rebooted():
    away = guest(AWAY, AWAY)
    watch = Watch(BEFORE, BEFORE, away, guest(AWAY, HOST_ANEW), BACK)
    assert run(watch) == "pve-02 was rebooted, node-181 answers as itself, whole, after 10 s"
    assert watch.told[0] == (
        "WAITING FOR A PERSON: reboot pve-02 (on pve-02: systemctl reboot); guests 182 (node-182) go down with it,"
        " they are yours to stop first (pve-02 answers with the boot id of before: it has not been rebooted)"
    )
    assert "pve-02 has a new boot id" in watch.told


def test_silence_for_a_while_proves_nothing():
    away = guest(AWAY, AWAY)
    with pytest.raises(
        StepFailed, match=r"the reboot of pve-02 is not proven 1 min later: .* it has not been rebooted"
    ):
        run(Watch(BEFORE, away, away, BEFORE), within=60)


def test_a_boot_id_that_cannot_be_read_proves_nothing():
    unread = guest(NODE_ANEW, missing(Gap.UNPARSABLE, "the kernel told no boot_id"))
    with pytest.raises(StepFailed, match="cannot be read, which proves nothing: the kernel told no boot_id"):
        run(Watch(BEFORE, unread), within=60)


def test_an_empty_boot_id_proves_nothing():
    with pytest.raises(StepFailed, match="tells no boot id, which proves nothing"):
        run(Watch(BEFORE, guest(NODE_ANEW, replace(HOST, boot_id=""))), within=60)


def test_the_nodes_own_restart_is_no_reboot_of_its_host():
    with pytest.raises(StepFailed, match="pve-02 answers with the boot id of before"):
        run(Watch(BEFORE, guest(NODE_ANEW, HOST)), within=60)


@pytest.mark.parametrize(
    ("back", "told"),
    [
        (
            guest(identity(boot_id="b2", machine_id="e" * 32), HOST_ANEW),
            "another machine answers as node-181",
        ),
        (guest(identity(boot_id="b2", machine_id=""), HOST_ANEW), "its machine-id is empty"),
        (guest(NODE_ANEW, replace(HOST_ANEW, machine_id="e" * 32)), "another machine answers as pve-02"),
    ],
    ids=["node", "node-tells-none", "host"],
)
def test_another_machine_ends_it_at_once(back, told):
    watch = Watch(BEFORE, back)
    with pytest.raises(StepFailed, match=told):
        run(watch)
    assert watch.time == 0


@pytest.mark.parametrize(
    ("lacking", "told"),
    [
        (guest(AWAY, HOST_ANEW), "node-181 does not answer"),
        (guest(identity(), HOST_ANEW), "node-181 answers with the boot id of before, or with none"),
        (guest(NODE_ANEW, HOST_ANEW, facts={MEMORY: memory(30, total_bytes=32 * GB)}), "it has 32 GB of memory, and had 64"),
        (guest(NODE_ANEW, HOST_ANEW, facts={MEMORY: missing()}), "its memory cannot be read"),
        (guest(NODE_ANEW, HOST_ANEW, facts={GPUS: replace(own_gpus(), gpus=own_gpus().gpus[:1])}), "1 of 2 GPUs are there"),
        (guest(NODE_ANEW, HOST_ANEW, facts={GPUS: missing()}), "its GPUs do not answer"),
        (guest(NODE_ANEW, HOST_ANEW, facts={GPUS: replace(own_gpus(), problems=("GPU 1 is lost",))}), "GPU 1 is lost"),
    ],
    ids=["silent", "same-life", "memory", "memory-unread", "gpu-gone", "gpus-silent", "gpu-lost"],
)  # fmt: skip
def test_a_node_that_is_not_whole_is_waited_for_and_then_told(lacking, told):
    watch = Watch(BEFORE, lacking)
    with pytest.raises(
        StepFailed, match="node-181 is not whole after the reboot of pve-02 2 min later"
    ) as caught:
        run(watch, back=120)
    assert told in str(caught.value)
    assert run(Watch(BEFORE, lacking, lacking, BACK)).startswith("pve-02 was rebooted")


def test_gpus_that_were_lost_before_are_wanted_back_as_the_inventory_says():
    before = guest(facts={GPUS: replace(own_gpus(), gpus=own_gpus().gpus[:1])})
    with pytest.raises(StepFailed, match="1 of 2 GPUs are there"):
        run(
            Watch(
                before,
                guest(NODE_ANEW, HOST_ANEW, facts={GPUS: replace(own_gpus(), gpus=own_gpus().gpus[:1])}),
            )
        )


def test_bare_metal_is_its_own_host():
    before = bare()
    back = bare(facts={IDENTITY: identity(hostname="node-190", boot_id="b2")})
    assert run(Watch(before, back)).startswith("node-190 was rebooted")
    assert plan(situation(before), STEP.settle({})).host == "node-190"


def test_of_a_container_it_is_the_kernel_that_it_shares():
    there = GuestEntry(kind="lxc", id=174, name="node-174", status="running")
    state = {GUEST: GUEST_181, GUESTS: (there,)}
    told = identity(hostname="node-174", boot_id="h1")
    before = observe(
        facts={IDENTITY: told}, on_hypervisor={IDENTITY: replace(HOST, hostname="pve-01"), **state}
    )
    restarted = observe(
        facts={IDENTITY: told}, on_hypervisor={IDENTITY: replace(HOST, hostname="pve-01"), **state}
    )
    with pytest.raises(StepFailed, match="pve-01 answers with the boot id of before"):
        run(Watch(before, restarted), within=60)


class TestPlan:
    def test_exactly_what_the_person_has_to_do(self):
        planned = plan(situation(BEFORE), STEP.settle({"within": 1800}))
        assert (planned.title, planned.host, planned.blocked) == ("a person reboots pve-02", "pve-02", "")
        assert planned.detail == (
            "reboot pve-02 (on pve-02: systemctl reboot); guests 182 (node-182) go down with it, they are yours to stop"
            " first; within 30 min, proven by a new boot id of pve-02; 10 min more for node-181, its GPUs and its memory"
        )

    def test_a_guest_that_does_not_start_with_its_host_is_the_persons_to_start(self):
        planned = plan(situation(vm(beside={IDENTITY: HOST})), STEP.settle({}))
        assert "; then qm start 181 on pve-02, which does not start it at boot;" in planned.detail

    @pytest.mark.parametrize(
        ("before", "host"),
        [
            (guest(on_host=AWAY), "pve-02"),
            (guest(on_host=replace(HOST, boot_id="")), "pve-02"),
            (guest(on_node=missing()), "node-181"),
        ],
        ids=["host-silent", "host-tells-none", "node-tells-none"],
    )
    def test_what_could_never_be_proven_is_refused_before_anything_is_stopped(self, before, host):
        planned = plan(situation(before), STEP.settle({}))
        assert (planned.hopeless, planned.guard) == (True, "boot-id")
        assert f"the boot id of {host} cannot be read" in planned.blocked
        with pytest.raises(Refused, match="its reboot could not be proven"):
            run(Watch(before, BACK))

    def test_a_node_without_a_machine_id_could_be_any(self):
        assert plan(situation(guest(identity(machine_id=""))), STEP.settle({})).guard == "identity"


def test_the_lock_outlasts_what_the_person_may_take():
    assert STEP.waits_s({"within": 1800}) == 1800 + 600
