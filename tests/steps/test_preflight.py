"""What stands against a start is said so that whoever reads it knows whom to ask."""

import pytest
from node_scenes import (
    BYSTANDER,
    HOLDERS,
    LISTENERS,
    NODE,
    PORT,
    SEGMENTS,
    SERVICE_RECORDS,
    ServiceRecord,
    holders,
    launcher,
    listener,
    observe,
    process,
    profile,
    rank,
    service_processes,
)  # fmt: skip

from fleetops.checks import judge
from fleetops.model.fleet import Inventory
from fleetops.model.machine import Segment
from fleetops.steps.preflight import STEP, _from_facts
from fleetops.steps.support.base import Situation


@pytest.mark.parametrize(
    ("owner", "said"),
    [
        ((BYSTANDER.pid,), f"port {PORT} is taken by process {BYSTANDER.pid} (python3 /root/bystander.py)"),
        ((), f"port {PORT} is taken"),
    ],
    ids=["a stranger", "nobody that is seen"],
)
def test_a_port_that_is_taken_is_told_with_who_has_it(owner, said):
    observation = observe(facts={LISTENERS: (listener(*owner),)})
    assert _from_facts(observation, profile()) == [said]


OWN = profile()
VLLM = profile(name="vllm-small", engine="vllm", port=8000)


def planned(observation, **profiles):
    situation = Situation(
        inventory=Inventory(path=".", nodes={"node-174": NODE}, profiles=profiles),  # type: ignore[arg-type]
        observation=observation,
        findings=judge(observation),
        before=observation,
        run_id="run",
    )
    return STEP.plan(situation, STEP.settle({}))


def test_a_port_that_a_stranger_has_is_refused_in_the_plan_and_his_process_is_shown():
    step = planned(observe(facts={LISTENERS: (listener(BYSTANDER.pid),)}))
    assert step.blocked.endswith(
        f"port {PORT} is taken by process {BYSTANDER.pid} (python3 /root/bystander.py)"
    )
    assert (step.guard, step.mend) == (
        "preflight",
        f"see whose it is: fleetops run node-174 -- ps -fp {BYSTANDER.pid}",
    )


@pytest.mark.parametrize(
    ("processes", "owners"),
    [((), ()), (service_processes(), (launcher().pid,)), ((), (BYSTANDER.pid, None)), ((rank(0, ppid=1),), (rank(0).pid,))],
    ids=["nobody that is seen", "the service", "not only a stranger", "an orphan"],
)  # fmt: skip
def test_what_the_rungs_may_free_stands_in_no_plans_way(processes, owners):
    listeners = tuple(listener(*([one] if one else [])) for one in owners) or (listener(),)
    assert planned(observe(*processes, facts={LISTENERS: listeners})).blocked == ""


def beside(*records, own=OWN):
    facts = {
        LISTENERS: (listener(launcher().pid),),
        HOLDERS: holders(launcher().pid),
        SERVICE_RECORDS: records,
    }
    return planned(
        observe(*service_processes(), profile=VLLM, facts=facts), **({own.name: own} if own else {})
    )


def test_a_service_of_the_nodes_own_profile_is_named_with_what_ends_it():
    step = beside()
    assert step.blocked.endswith(
        f"profile hicache48 serves there on port {PORT} (pid {launcher().pid}) and has the GPUs"
    )
    assert step.mend == "fleetops kill node-174"


def test_a_service_of_another_profile_is_named_by_its_record():
    record = ServiceRecord(
        profile="other",
        run_id="r",
        pid=launcher().pid,
        start_ticks=launcher().start_ticks,
        port=PORT,
        log="l",
    )
    step = beside(record)
    assert "profile other serves there" in step.blocked
    assert step.mend == "fleetops probe node-174"
    assert "another service (sglang) serves there" in beside(own=None).blocked


def test_what_another_service_holds_is_said_once():
    seen = observe(*service_processes(), profile=VLLM, facts={HOLDERS: holders(launcher().pid)})
    assert _from_facts(seen, VLLM) == []
    stranger = observe(process(70, "python3", "python3"), profile=VLLM, facts={HOLDERS: holders(70)})
    assert _from_facts(stranger, VLLM) == ["process 70 holds /dev/nvidiactl"]


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, "1 shared-memory segment of dead owners is left"),
        (2, "2 shared-memory segments of dead owners are left"),
    ],
)
def test_what_is_left_is_counted(count, said):
    left = [
        Segment(name=f"/dev/shm/sgl_shm_mm_{pid}_ab", kind="posix", size_bytes=1, creator_pid=pid)
        for pid in range(900_000, 900_000 + count)
    ]
    assert _from_facts(observe(facts={SEGMENTS: tuple(left)}), profile()) == [said]
