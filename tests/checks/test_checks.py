"""Each check: a healthy node says nothing, the failing one says it as an operator would, a missing fact is unknown."""

from dataclasses import replace

import pytest
from node_scenes import (
    BASELINE,
    COMMAND,
    LAUNCHER_PID,
    NODE,
    detokenizer,
    ghost,
    gpu,
    gpus,
    holders,
    incident,
    launcher,
    listener,
    memory,
    missing,
    observe,
    process,
    profile,
    rank,
    service_processes,
    zombie,
)  # fmt: skip

from fleetops.checks import all_checks, judge, remember
from fleetops.model.fact import Facts, Gap, Missing
from fleetops.model.finding import Observation, Severity
from fleetops.model.fleet import Guest
from fleetops.model.gpu import GPUS, Gpus, LostGpu
from fleetops.model.guest import AGENT, GUEST, HOST_HOLDERS, TASKS, GuestProcess, GuestState, HostHolder, Task
from fleetops.model.machine import (
    CGROUP,
    HOLDERS,
    IDENTITY,
    LISTENERS,
    MEMORY,
    PROCESSES,
    SEGMENTS,
    SSH_ANSWER,
    CgroupMemory,
    PortAnswer,
    Segment,
    Thread,
)  # fmt: skip
from fleetops.model.past import Remembered
from fleetops.model.units import GB, MIB

CHECKS = {check.name: check for check in all_checks() if not check.sweeps_only}
CRITICAL, UNKNOWN, WARNING = Severity.CRITICAL, Severity.UNKNOWN, Severity.WARNING

BUSY_GPUS = gpus(memory_used_bytes=94_000 * MIB)
SERVING = {
    HOLDERS: holders(*range(4130, 4138)),
    LISTENERS: (listener(LAUNCHER_PID),),
    MEMORY: memory(52),
    GPUS: BUSY_GPUS,
}
WEDGED = {
    HOLDERS: holders(4135, 4136, 4137),
    LISTENERS: (listener(4135),),
    MEMORY: memory(9.6, shmem_bytes=12 * GB),
    GPUS: BUSY_GPUS,
}
LEFT = Segment(name="/dev/shm/sgl_shm_mm_4131_ab", kind="posix", size_bytes=3 * GB, creator_pid=4131)


def serving(**more):
    return observe(*service_processes(), **{"facts": SERVING, **more})


def idle(**facts):
    return observe(profile=None, facts={{"gpus": GPUS, "memory": MEMORY, "holders": HOLDERS, "listeners": LISTENERS, "segments": SEGMENTS}[name]: value for name, value in facts.items()})  # fmt: skip


def guest(**fields):
    return {GUEST: GuestState(kind="lxc", id=174, **{"status": "running", **fields})}


def silent(gap, **more):
    """The same node, which says nothing at all."""
    seen = observe(**more)
    readings = dict.fromkeys(seen.node_facts.readings, gap)
    return replace(seen, node_facts=Facts("node-174", 0.0, readings), services=())


def unreached(why, reason):
    return Missing(Gap.UNREACHABLE, why, reason=reason)


NO_BANNER = unreached("node-174: it accepted the connection but sent no SSH banner within 10 s", "no-banner")
LATE = unreached("node-174: no answer within 10 s", "timeout")
REFUSED = unreached("10.1.230.174 port 22: connection refused", "refused")
BARE = replace(NODE, hypervisor="", guest=None)
BARE_KNOWN = replace(BARE, machine_id="0bad")
IN_VM = replace(NODE, guest=Guest(kind="vm", id=174))
GONE = LostGpu(
    bdf="0000:17:00.0", said="Unable to determine the device handle for GPU 0000:17:00.0: Unknown Error"
)
LOST = replace(gpus(7), problems=(GONE.said,), lost=(GONE,))
HANGS = Missing(Gap.TIMED_OUT, "driver unresponsive: nvidia-smi (pid 4242) in D for 340 s; no other is started beside it", reason="driver-unresponsive")  # fmt: skip
MISMATCH = Missing(Gap.UNPARSABLE, "nvidia-smi could not ask the driver: Driver/library version mismatch", reason="driver-mismatch")  # fmt: skip
SECOND_LAUNCHER = process(600, "python3", *COMMAND)
ORPHANS = tuple(rank(number, ppid=1) for number in range(8))
SPLIT = {**SERVING, HOLDERS: (*holders(*range(4130, 4138)), *holders(7000))}
NOTEBOOK = process(7000, "python3", "python3", "-m", "ipykernel_launcher")
SHARED = {HOST_HOLDERS: (HostHolder(pid=9, comm="python3", path="/dev/nvidia0", guest_id=175),)}

FAILING = [
    ("ranks-dead", observe(*incident(), facts=WEDGED), CRITICAL, "5 of 8 ranks are zombies (pids 4130, 4131, 4132, 4133, 4134); their parent 4121 does not reap them"),
    ("ranks-dead", observe(*service_processes()[:7], detokenizer()), CRITICAL, "2 of 8 ranks are gone"),
    ("ranks-dead", observe(replace(launcher(), state="D"), zombie(rank(0)), *map(rank, range(1, 8))), CRITICAL, "their parent 4121 hangs in D"),
    ("ranks-dead", observe(*incident(), facts=WEDGED | {CGROUP: CgroupMemory(version=1, limit_bytes=None, current_bytes=0, oom_kills=5)}), CRITICAL, "the kernel's OOM killer has ended 5 processes of this node's cgroup"),
    ("ranks-dead", observe(*map(zombie, ORPHANS)), WARNING, "PID 1 does not reap them: they stay until the guest is stopped; they hold no memory"),
    ("ghost-leaders", observe(*incident(), facts=WEDGED), CRITICAL, "2 zombie leaders with live threads (pids 4135, 4136): memory, device files and ports are still held, 100 GB resident"),
    ("ghost-leaders", observe(replace(ghost(rank(0)), live_threads=(Thread(tid=9, state="D"),), ppid=1)), CRITICAL, "1 with a thread in D"),
    ("ranks-in-d-state", observe(*incident(), facts=WEDGED), CRITICAL, "1 rank in uninterruptible sleep (pid 4137); the service is dead in part"),
    ("ranks-in-d-state", observe(*service_processes()[:8], replace(rank(7), state="D")), WARNING, "seen once"),
    ("orphans", observe(*ORPHANS), CRITICAL, "8 processes of a dead launcher live on"),
    ("service-absent", observe(), CRITICAL, "hicache48 does not run on port 30000"),
    ("service-absent", observe(zombie(launcher()), *service_processes()[1:]), CRITICAL, "does not run"),
    ("service-absent", observe(*service_processes(), profile=profile(port=31000)), CRITICAL, "a service runs on port 30000 instead"),
    ("service-duplicate", observe(*service_processes(), SECOND_LAUNCHER), WARNING, "2 launchers for port 30000 (pids 4121, 600)"),
    ("gpu-memory-held", observe(*incident(), facts=WEDGED), CRITICAL, "734 GiB on 8 GPUs (0, 1, 2, 3, 4, 5, 6, 7), held by a service that is dead in part"),
    ("gpu-memory-held", idle(gpus=gpus(memory_used_bytes=300 * MIB)), CRITICAL, "no process has their device files open: only a reset frees it"),
    ("gpu-strangers", observe(*service_processes(), NOTEBOOK, facts=SPLIT), WARNING, "7000 (python3 -m ipykernel_launcher) cannot be shown to be the service's"),
    ("gpu-wants-reset", idle(gpus=gpus(2, recovery_action="Reset")), CRITICAL, "GPU 0 (Reset), GPU 1 (Reset)"),
    ("gpu-wants-reset", idle(gpus=gpus(1, recovery_action="Drain and Reset")), CRITICAL, "GPU 0 (Drain and Reset)"),
    ("gpu-wants-reset", idle(gpus=gpus(1, failing=(("temperature", "[GPU requires reset]"),))), CRITICAL, "requires reset"),
    ("gpu-wants-reset", idle(gpus=gpus(1, recovery_action="Replace")), UNKNOWN, "'Replace'): stop and ask a person"),
    ("gpu-wants-reboot", idle(gpus=gpus(1, recovery_action="Reboot")), CRITICAL, "(pve-01): GPU 0; a person does this"),
    ("gpu-count", idle(gpus=gpus(7)), CRITICAL, "7 of 8 GPUs answer"),
    ("gpu-count", idle(gpus=replace(gpus(8), problems=("the report breaks off after 8 GPUs",))), CRITICAL, "nvidia-smi says: the report breaks off"),
    ("gpu-count", idle(gpus=replace(LOST, gpus=gpus(6).gpus)), CRITICAL, "6 of 8 GPUs answer"),
    ("gpu-count", idle(gpus=gpus(9)), WARNING, "9 GPUs answer, the inventory states 8"),
    ("gpu-failing", idle(gpus=gpus(1, failing=(("fan_speed", "ERR!"),))), CRITICAL, "GPU 0 at 0000:10:00.0: fan_speed reads 'ERR!'"),
    ("port-held", observe(facts={LISTENERS: (listener(),)}), CRITICAL, "port 30000 listens, and no process that is visible here owns it"),
    ("port-held", observe(NOTEBOOK, facts={LISTENERS: (listener(7000),)}), CRITICAL, "belongs to process 7000"),
    ("port-held", observe(*incident(), facts=WEDGED), CRITICAL, "held by process 4135 ([sglang::schedul]) of a service that is dead in part"),
    ("leftovers", idle(segments=(LEFT, replace(LEFT, name="/dev/shm/psm_1", creator_pid=None))), WARNING, "2 shared-memory segments of dead owners, 6 GB, mapped by nobody"),
    ("memory-low", observe(*incident(), facts=WEDGED), CRITICAL, "9.6 GB of 449 GB available"),
    ("memory-low", observe(*service_processes(), facts={CGROUP: CgroupMemory(version=2, limit_bytes=400 * GB, current_bytes=390 * GB)}), CRITICAL, "10 GB of room in its cgroup"),
    ("memory-low", idle(memory=memory(400)), WARNING, "no service runs, yet 400 GB are available and the idle node has 445 GB (recorded 2026-11-20)"),
    ("memory-missing", observe(*incident(), facts=WEDGED), CRITICAL, "320 GB are in no process's RSS and in no shared memory (pinned by the driver); dead ranks are still there"),
    ("memory-missing", idle(memory=memory(40)), CRITICAL, "405 GB are in no process's RSS"),
    ("guest-state", observe(on_hypervisor=guest(status="stopped")), CRITICAL, "pve-01 says that guest 174 (lxc) is stopped"),
    ("guest-state", observe(on_hypervisor=guest(status="stopped", left=(GuestProcess(pid=4, state="D", comm="kvm"),))), CRITICAL, "kvm of it (pid 4) is alive in D state, which no signal ends, and may hold its GPUs: do not start it; a person reboots pve-01"),
    ("guest-locked", observe(on_hypervisor={**guest(lock="backup"), TASKS: (Task(upid="UPID:pve-01:1", type="vzdump", id="174"),)}), WARNING, "guest 174 is locked (backup) on pve-01; running: vzdump UPID:pve-01:1"),
    ("gpu-lost", idle(gpus=LOST), CRITICAL, "device handle for GPU 0000:17:00.0: Unknown Error; 7 others answer; no reset reaches it: a person reboots or power-cycles pve-01"),
    ("gpu-lost", idle(gpus=replace(LOST, gpus=(), listed=3)), CRITICAL, "3 others listed, of which nvidia-smi tells no more"),
    ("gpu-lost", observe(profile=None, node=BARE, facts={GPUS: LOST}), CRITICAL, "power-cycles node-174"),
    ("gpu-lost", observe(profile=None, node=IN_VM, facts={GPUS: LOST}), CRITICAL, "a stop and a start of the VM may bring it back"),
    ("driver-unresponsive", idle(gpus=HANGS), CRITICAL, "nvidia-smi (pid 4242) in D for 340 s; no other is started beside it (on node-174)"),
    ("driver-unresponsive", observe(profile=None, on_hypervisor={GPUS: HANGS}), CRITICAL, "(on pve-01)"),
    ("driver-mismatch", idle(gpus=MISMATCH), CRITICAL, "on node-174: nvidia-smi could not ask the driver: Driver/library version mismatch; no reset helps"),
    ("no-banner", silent(NO_BANNER), CRITICAL, "it is not down: TCP answers; see guest 174 (lxc) on pve-01, which says that it is running"),
    ("no-banner", silent(NO_BANNER, on_hypervisor={SSH_ANSWER: PortAnswer.BANNER}), UNKNOWN, "pve-01 gets a banner"),
    ("unreachable", silent(LATE), UNKNOWN, "no answer within 10 s; pve-01 says the guest is running"),
    ("unreachable", silent(LATE, on_hypervisor={SSH_ANSWER: PortAnswer.NO_ANSWER}), CRITICAL, "no answer within 10 s; pve-01 says the guest is running"),
    ("unreachable", silent(LATE, on_hypervisor={SSH_ANSWER: PortAnswer.CLOSED}), UNKNOWN, "no answer"),
    ("unreachable", silent(LATE, on_hypervisor={SSH_ANSWER: PortAnswer.SILENT, **guest(status="stopped")}), UNKNOWN, "stopped"),
    ("unreachable", silent(REFUSED, on_hypervisor={SSH_ANSWER: PortAnswer.SILENT}), UNKNOWN, "connection refused"),
    ("unreachable", observe(facts={}, profile=None), None, ""),
    ("wrong-machine", serving(node=replace(NODE, machine_id="0bad")), CRITICAL, "another machine answers as node-174: its machine-id is 5e0c, recorded is 0bad"),
    ("wrong-machine", serving(node=BARE_KNOWN), CRITICAL, "recorded is 0bad"),
    ("wrong-machine", serving(on_hypervisor=guest(machine_id="0bad")), CRITICAL, "guest 174 on pve-01 is not the machine that answers as node-174"),
    ("wrong-machine", serving(node=IN_VM, on_hypervisor={**guest(), AGENT: "0bad"}), CRITICAL, "its machine-id is 0bad, the node's 5e0c"),
    ("wrong-machine", serving(node=replace(NODE, machine_id="5e0c"), on_hypervisor=guest(machine_id="5e0c")), None, ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "observation", "severity", "said"), FAILING)
def test_a_failing_node_is_said_so(name, observation, severity, said):
    findings = CHECKS[name].judge(observation)
    if severity is None:
        assert findings == []
        return
    (finding,) = [one for one in findings if one.severity is severity]
    assert (finding.host, finding.check) == ("node-174", name)
    assert said in finding.evidence
    assert finding.subject


@pytest.mark.parametrize("name", CHECKS)
def test_a_serving_node_says_nothing(name):
    assert CHECKS[name].judge(serving()) == []


@pytest.mark.parametrize("name", CHECKS)
def test_an_idle_node_without_a_profile_says_nothing(name):
    assert CHECKS[name].judge(observe(profile=None)) == []


@pytest.mark.parametrize("name", CHECKS)
def test_a_bare_node_says_nothing(name):
    bare = serving(node=replace(NODE, hypervisor="", guest=None))
    assert CHECKS[name].judge(replace(bare, hypervisor_facts=None)) == []


NEEDS = [
    ("ranks-dead", PROCESSES),
    ("ghost-leaders", PROCESSES),
    ("ranks-in-d-state", PROCESSES),
    ("orphans", PROCESSES),
    ("service-absent", PROCESSES),
    ("service-duplicate", PROCESSES),
    ("gpu-memory-held", GPUS),
    ("gpu-memory-held", HOLDERS),
    ("gpu-memory-held", PROCESSES),
    ("gpu-strangers", HOLDERS),
    ("gpu-strangers", PROCESSES),
    ("gpu-wants-reset", GPUS),
    ("gpu-wants-reboot", GPUS),
    ("gpu-count", GPUS),
    ("gpu-lost", GPUS),
    ("gpu-failing", GPUS),
    ("port-held", LISTENERS),
    ("port-held", PROCESSES),
    ("leftovers", SEGMENTS),
    ("leftovers", PROCESSES),
    ("memory-low", MEMORY),
    ("memory-missing", MEMORY),
    ("memory-missing", PROCESSES),
    ("wrong-machine", IDENTITY),
]


@pytest.mark.parametrize(("name", "key"), NEEDS)
def test_a_missing_fact_is_unknown_and_never_healthy(name, key):
    (finding,) = CHECKS[name].judge(serving(facts={**SERVING, key: missing()}))
    assert finding.severity is UNKNOWN
    assert finding.check == name
    assert "timed out: no answer in 10 s" in finding.evidence


@pytest.mark.parametrize("name", ["guest-state", "guest-locked"])
def test_a_hypervisor_that_does_not_answer_leaves_the_guest_unknown(name):
    (finding,) = CHECKS[name].judge(serving(on_hypervisor={GUEST: missing(Gap.UNREACHABLE, "no route")}))
    assert finding.severity is UNKNOWN
    assert "on pve-01" in finding.evidence


def test_every_check_has_a_failing_case_and_a_missing_fact():
    by_gap = {
        "unreachable",
        "no-banner",
        "driver-unresponsive",
        "driver-mismatch",
    }  # the gap itself is what they tell
    told = {"guest-state", "guest-locked"} | by_gap | {name for name, _ in NEEDS}
    assert told == set(CHECKS)
    assert {name for name, *_ in FAILING} == set(CHECKS)


def test_a_service_that_is_just_being_started_is_not_called_dead():
    assert CHECKS["ranks-dead"].judge(observe(launcher())) == []


def test_memory_that_a_whole_service_has_pinned_is_not_missing():
    assert CHECKS["memory-missing"].judge(serving()) == []


def test_gpu_memory_of_another_guest_is_not_called_held():
    one = observe(
        profile=None,
        on_hypervisor=SHARED,
        facts={GPUS: Gpus(driver_version="570", gpus=(gpu(0, memory_used_bytes=9 * GB),))},
    )
    assert CHECKS["gpu-memory-held"].judge(one) == []


def test_gpu_memory_is_judged_against_the_idle_gpus_own_use():
    baseline = replace(BASELINE, gpu_used_bytes={f"GPU-{index}": 614 * MIB for index in range(8)})
    used = {GPUS: gpus(memory_used_bytes=620 * MIB)}
    assert CHECKS["gpu-memory-held"].judge(observe(profile=None, baseline=baseline, facts=used)) == []
    assert CHECKS["gpu-memory-held"].judge(observe(profile=None, facts=used)) != []


def test_memory_that_is_a_little_below_idle_is_back():
    assert CHECKS["memory-low"].judge(idle(memory=memory(443.5))) == []


# All together.


def test_a_node_that_does_not_answer_is_said_so_once():
    (finding,) = judge(silent(REFUSED))
    assert (finding.check, finding.severity) == ("unreachable", UNKNOWN)
    assert "connection refused; pve-01 says the guest is running" in finding.evidence


def test_what_the_hypervisor_says_of_a_silent_node_stays():
    found = judge(silent(REFUSED, on_hypervisor=guest(status="stopped")))
    assert [one.check for one in found] == ["guest-state", "unreachable"]
    both = judge(silent(REFUSED, on_hypervisor={GUEST: missing(Gap.UNREACHABLE, "no route")}))
    assert [one.check for one in both] == ["guest-locked", "guest-state", "unreachable"]


def test_a_node_without_a_banner_is_said_so_once():
    (finding,) = judge(silent(NO_BANNER))
    assert (finding.check, finding.severity) == ("no-banner", CRITICAL)
    assert finding.next == "fleetops recover node-174 --dry-run"


def test_of_another_machine_nothing_is_said_but_that_and_what_the_hypervisor_tells():
    node = replace(NODE, machine_id="0bad")
    found = judge(observe(*incident(), node=node, facts=WEDGED, on_hypervisor=guest(lock="backup")))
    assert [one.check for one in found] == ["wrong-machine", "guest-locked"]
    assert found[0].next == "fleetops run node-174 -- hostname"


@pytest.mark.parametrize(
    ("observation", "first"),
    [
        (idle(gpus=LOST), "reboot or power-cycle pve-01"),
        (observe(profile=None, node=BARE, facts={GPUS: LOST}), "reboot or power-cycle node-174"),
        (idle(gpus=gpus(1, recovery_action="Reboot")), "reboot pve-01"),
        (idle(gpus=MISMATCH), "bring the driver's library and module on node-174 to one release"),
    ],
    ids=["lost", "lost on bare metal", "wants a reboot", "mismatch"],
)
def test_what_only_a_person_can_do_is_what_comes_next(observation, first):
    assert f"{first}, then fleetops recover node-174" in [one.next for one in judge(observation)]


def test_a_lost_gpu_is_said_once():
    found = judge(idle(gpus=LOST))
    assert [one.check for one in found] == ["gpu-lost"]
    reported = replace(gpus(8), gpus=(*gpus(7).gpus, gpu(7, failing=(("temperature", "GPU is lost"),))))
    named = replace(reported, lost=(LostGpu(bdf=reported.gpus[7].bdf, said="GPU is lost"),))
    assert [one.check for one in judge(idle(gpus=named))] == ["gpu-lost"]


def test_a_node_of_which_nothing_was_read_is_unknown():
    nothing = Observation(node=NODE, node_facts=Facts("node-174", 0.0))
    assert [one.check for one in judge(nothing)] == ["unreachable"]


def test_one_fact_that_came_makes_the_node_reachable():
    partly = silent(REFUSED)
    readings = {**partly.node_facts.readings, MEMORY.name: memory()}
    found = judge(replace(partly, node_facts=Facts("node-174", 0.0, readings)))
    assert "unreachable" not in [one.check for one in found]
    assert {one.severity for one in found} == {UNKNOWN}


def test_findings_come_worst_first():
    segments = {SEGMENTS: (replace(LEFT, creator_pid=1_000_000),)}
    found = judge(observe(*incident(), facts={**WEDGED, **segments, LISTENERS: missing()}))
    order = [one.severity for one in found]
    assert order == sorted(order, key=[CRITICAL, UNKNOWN, WARNING].index)
    assert {CRITICAL, UNKNOWN, WARNING} <= set(order)


def test_the_incident_is_told_in_full():
    found = judge(observe(*incident(), facts=WEDGED))
    assert {one.check for one in found} == {
        "ranks-dead", "ghost-leaders", "ranks-in-d-state", "gpu-memory-held", "port-held", "memory-low",
        "memory-missing",
    }  # fmt: skip
    assert all(one.next.startswith("fleetops ") and "node-174" in one.next for one in found)


def test_of_another_machine_that_answers_nothing_is_remembered():
    assert remember(serving()).words
    assert remember(serving(node=replace(NODE, machine_id="0bad"))) == Remembered()
