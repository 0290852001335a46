"""Whose process is it: what a recovery may end, and what it must leave alone."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_scenes import (
    BYSTANDER,
    COMMAND,
    INIT,
    LAUNCHER_PID,
    NODE,
    RECORD,
    SHELL,
    SSHD,
    SYSTEM,
    detokenizer,
    ghost,
    holders,
    incident,
    launcher,
    listener,
    missing,
    observe,
    process,
    profile,
    rank,
    service_processes,
    zombie,
)  # fmt: skip

from fleetops.engines.attribution import attribute
from fleetops.engines.support.protected import protected, runs_script
from fleetops.model.engine import SERVICE_RECORDS
from fleetops.model.machine import HOLDERS, LISTENERS, PROCESSES, SEGMENTS, Process, Segment

SERVICE_PIDS = {LAUNCHER_PID, *range(4130, 4138), 4140}


def pids(processes):
    return {one.pid for one in processes}


def orphans(**fields):
    return [rank(number, ppid=1, **fields) for number in range(8)]


def test_all_of_the_incidents_service_and_nothing_else():
    found = attribute(observe(*incident(), facts={HOLDERS: holders(4135, 4136, 4137)}))
    assert pids(found.processes) == SERVICE_PIDS
    assert found.processes[0].pid == LAUNCHER_PID
    assert pids(found.living) == {LAUNCHER_PID, 4135, 4136, 4137, 4140}
    assert found.groups == (LAUNCHER_PID,)
    assert found.strangers == ()
    assert found.why[LAUNCHER_PID] == "the launcher"


def test_without_a_process_table_nothing_is_anybodys():
    found = attribute(observe(*incident(), facts={PROCESSES: missing()}))
    assert not found.known
    assert found.processes == ()


def test_a_session_that_the_launcher_leads_is_the_services_own():
    helper = process(5000, "tee", "tee", "/root/sglang.log", pgid=5000, sid=LAUNCHER_PID)
    assert 5000 in pids(attribute(observe(*service_processes(), helper)).processes)


def test_of_a_login_session_only_the_tree_and_the_launchers_own_group_count():
    """Started in an operator's shell with job control: the session is the login's, the group the job's."""
    editor = process(910, "vim", "vim", "notes", ppid=SHELL.pid, pgid=910, sid=SHELL.pid)
    tee = process(4122, "tee", "tee", "log", ppid=SHELL.pid, pgid=LAUNCHER_PID, sid=SHELL.pid)
    started = [replace(one, sid=SHELL.pid) for one in service_processes()]
    found = attribute(observe(replace(started[0], ppid=SHELL.pid), *started[1:], editor, tee))
    assert pids(found.processes) == {*SERVICE_PIDS, 4122}


def test_a_group_that_a_script_leads_is_not_the_services_own():
    """`ssh node 'nohup python3 bystander & nohup python3 -m sglang...'`: one group for all that the shell started."""
    script = process(4000, "bash", "bash", "start.sh")
    other = process(4001, "python3", "python3", "bystander.py", ppid=4000, pgid=4000, sid=4000)
    started = [replace(one, pgid=4000, sid=4000) for one in service_processes()]
    found = attribute(observe(script, other, replace(started[0], ppid=4000), *started[1:]))
    assert pids(found.processes) == SERVICE_PIDS
    assert found.groups == (), "a signal to that group would meet others"


def test_groups_and_sessions_led_from_outside_the_container_say_nothing():
    outside = process(6000, "python3", "python3", "other.py", pgid=0, sid=0)
    started = [replace(one, pgid=0, sid=0) for one in service_processes()]
    found = attribute(observe(outside, *started))
    assert pids(found.processes) == SERVICE_PIDS
    assert found.groups == ()


def test_a_server_that_is_pid_1_is_spared_and_its_workers_are_not():
    head = process(1, "python3", *COMMAND, ppid=0)
    facts = {PROCESSES: (head, SSHD, SHELL, BYSTANDER, *(rank(number, ppid=1) for number in range(8)))}
    assert pids(attribute(observe(facts=facts)).processes) == set(range(4130, 4138))


def test_orphans_that_hold_gpus_are_the_services():
    found = attribute(observe(*orphans(), detokenizer(ppid=1), facts={HOLDERS: holders(4135)}))
    assert pids(found.processes) == SERVICE_PIDS - {LAUNCHER_PID}
    assert "title" in found.why[4130]


def test_an_orphan_ghost_that_holds_the_port_speaks_for_its_group():
    facts = {LISTENERS: (listener(4133),)}
    living = [ghost(one) if one.pid == 4133 else one for one in orphans()]
    assert pids(attribute(observe(*living, facts=facts)).processes) == set(range(4130, 4138))


def test_orphans_of_a_recorded_launch_need_no_other_proof():
    found = attribute(observe(*orphans(), facts={SERVICE_RECORDS: (RECORD,)}))
    assert pids(found.processes) == set(range(4130, 4138))
    assert "recorded" in found.why[4130]


def test_a_stale_record_proves_nothing():
    reused = process(LAUNCHER_PID, "nginx", "nginx", pgid=1000, sid=1000, start_ticks=99_999)
    found = attribute(observe(reused, *orphans(), facts={SERVICE_RECORDS: (RECORD,)}))
    assert found.processes == ()
    assert pids(found.nominated) == set(range(4130, 4138))


def test_a_title_alone_only_nominates():
    found = attribute(observe(*orphans()))
    assert found.processes == ()
    assert pids(found.nominated) == set(range(4130, 4138))


def test_what_was_the_services_a_moment_ago_still_is_when_its_proof_has_ended():
    before = attribute(observe(*incident(), facts={HOLDERS: holders(4135, 4136, 4137)}))
    after = observe(detokenizer(ppid=1), replace(rank(7, ppid=1), start_ticks=77_777))
    assert attribute(after).processes == ()
    assert pids(attribute(after, earlier=before.processes).processes) == {4140}, (
        "pid 4137 is another process now"
    )


def test_a_held_gpu_alone_makes_a_stranger():
    notebook = process(7000, "python3", "python3", "-m", "ipykernel_launcher")
    found = attribute(observe(*service_processes(), notebook, facts={HOLDERS: holders(4130, 7000)}))
    assert 7000 not in pids(found.processes)
    assert [one.pid for one in found.strangers] == [7000]
    assert "ipykernel" in found.strangers[0].title


def test_a_holder_that_left_the_table_is_a_stranger():
    found = attribute(observe(*service_processes(), facts={HOLDERS: holders(99999)}))
    assert [(one.pid, one.process) for one in found.strangers] == [(99999, None)]


def test_the_drivers_own_daemons_are_no_strangers():
    daemon = process(800, "nvidia-persiste", "/usr/bin/nvidia-persistenced")
    found = attribute(observe(*service_processes(), daemon, facts={HOLDERS: holders(800)}))
    assert (found.strangers, found.daemons) == ((), (daemon,))


def test_holders_that_could_not_be_read_are_not_no_strangers():
    assert attribute(observe(*service_processes(), facts={HOLDERS: missing()})).strangers is None


def second_service(*, dead=False):
    head = process(600, "python3", "python3", "-m", "sglang.launch_server", "--port", "30001")
    worker = process(601, "sglang::schedul", "sglang::scheduler", ppid=600, pgid=600, sid=600)
    return head, zombie(worker) if dead else worker


def test_another_ports_service_is_not_touched():
    found = attribute(observe(*incident(), *second_service(), facts={HOLDERS: holders(601, 4137)}))
    assert pids(found.processes) == SERVICE_PIDS
    assert [service.port for service in found.others] == [30001]
    assert found.strangers == (), "its GPUs are accounted for"


def test_a_healthy_service_on_another_port_is_left_alone_even_where_nothing_else_runs():
    found = attribute(observe(*second_service()))
    assert found.processes == ()
    assert [service.port for service in found.others] == [30001]


def test_a_wedged_service_on_another_port_counts_where_the_profiles_own_is_not_there():
    found = attribute(observe(*second_service(dead=True)))
    assert pids(found.processes) == {600, 601}
    beside = attribute(observe(*service_processes(), *second_service(dead=True)))
    assert pids(beside.processes) == SERVICE_PIDS


def test_without_a_profile_the_only_service_is_meant_and_none_of_several():
    assert pids(attribute(observe(*incident(), profile=None)).processes) == SERVICE_PIDS
    several = attribute(observe(*service_processes(), *second_service(), profile=None))
    assert several.processes == ()
    assert len(several.others) == 2


def test_a_record_names_its_service_on_whatever_port():
    moved = replace(RECORD, port=31000)
    started = [replace(one, cmdline=(*COMMAND, "--port", "31000")) if one.pid == LAUNCHER_PID else one
               for one in service_processes()]  # fmt: skip
    found = attribute(observe(*started, facts={SERVICE_RECORDS: (moved,)}))
    assert pids(found.processes) == SERVICE_PIDS


def test_of_a_recorded_launch_its_whole_unit_counts():
    unit = "/system.slice/fleetops-hicache48.service"
    apart = process(8000, "helper", "helper", cgroup=unit)
    started = [replace(one, cgroup=unit) for one in service_processes()]
    found = attribute(observe(*started, apart, facts={SERVICE_RECORDS: (RECORD,)}))
    assert 8000 in pids(found.processes)


@pytest.mark.parametrize("unit", ["/user.slice/session-3.scope", "/system.slice/cron.service", "/"])
def test_a_login_scope_or_a_daemons_unit_is_no_unit_of_the_service(unit):
    apart = process(8000, "helper", "helper", cgroup=unit)
    cron = process(8001, "cron", "cron", "-f", cgroup=unit)
    started = [replace(one, cgroup=unit) for one in service_processes()]
    found = attribute(observe(*started, apart, cron, facts={SERVICE_RECORDS: (RECORD,)}))
    assert pids(found.processes) == SERVICE_PIDS


@pytest.mark.parametrize(
    "spared",
    [
        INIT,
        SSHD,
        SHELL,
        process(50, "bash", "bash"),
        process(50, "sh", "sh", "-s"),
        process(50, "sh", "sh", "-s", "--", "argument"),
        process(50, "zsh", "/bin/zsh", "-il"),
        process(50, "tmux: server", "tmux", "new", "-s", "sglang"),
        process(50, "screen", "SCREEN", "-S", "sglang"),
        process(50, "sshd-session", "sshd-session: root@pts/0"),
        process(50, "systemd-journal", "/lib/systemd/systemd-journald"),
        process(2, "kthreadd", pgid=0, sid=0, ppid=0),
        process(50, "kworker/0:1", pgid=0, sid=0, ppid=2),
    ],
)
def test_these_are_never_a_services(spared):
    assert protected(spared)
    under = replace(
        spared,
        ppid=LAUNCHER_PID,
        pgid=LAUNCHER_PID if spared.pgid else 0,
        sid=LAUNCHER_PID if spared.sid else 0,
    )
    found = attribute(observe(*service_processes(), under, facts={SERVICE_RECORDS: (RECORD,)}))
    assert spared.pid not in pids(found.processes)
    assert spared.pgid == 0 or spared.pid == 1 or found.groups == ()


@pytest.mark.parametrize(
    "ordinary",
    [
        launcher(),
        zombie(rank(0)),
        process(50, "bash", "bash", "start.sh"),
        process(50, "bash", "bash", "-c", "python3 -m sglang.launch_server"),
        process(50, "sh", "sh", "-lc", "true"),
        process(50, "python3", "python3", "x.py", pgid=0, sid=0),
    ],
)
def test_these_are_protected_by_nothing(ordinary):
    assert protected(ordinary) == ""


# Property: whatever the table looks like, a kill meets nobody who is not the service's.

comms = st.sampled_from(
    ["sglang::schedul", "sglang::detoken", "python3", "bash", "sshd", "nginx", "tmux: server"]
)
lines = st.sampled_from(
    [(), ("python3", "app.py"), ("-bash",), COMMAND, ("sglang::scheduler_TP0",), ("bash", "start.sh")]
)
numbers = st.integers(min_value=0, max_value=14)


@st.composite
def tables(draw):
    """Small tables with all kinds of parents, groups and sessions, cycles included."""
    found = []
    for pid in range(1, draw(st.integers(min_value=1, max_value=14)) + 1):
        state = draw(st.sampled_from("SSSZD"))
        found.append(
            Process(
                pid=pid,
                ppid=draw(numbers) if pid > 1 else 0,
                pgid=draw(numbers),
                sid=draw(numbers),
                state=state,
                threads=draw(st.sampled_from([1, 1, 4])),
                comm=draw(comms),
                start_ticks=draw(numbers),
                cmdline=() if state == "Z" else draw(lines),
            )
        )
    return tuple(found)


def ancestors(table, one):
    by_pid, seen, above = {p.pid: p for p in table}, {one.pid}, []
    while (parent := by_pid.get(one.ppid)) and parent.pid not in seen:
        above.append(parent)
        seen.add(parent.pid)
        one = parent
    return above


def keeps_a_launcher(table, one, launchers):
    """A script's shell above a launcher: what starts the service again."""
    by_pid = {p.pid: p for p in table}
    return runs_script(one) and any(one in ancestors(table, by_pid[pid]) for pid in launchers)


@given(tables(), st.lists(numbers), st.lists(numbers))
def test_nothing_protected_and_nothing_unrelated_is_ever_attributed(table, holding, listening):
    facts = {PROCESSES: table, HOLDERS: holders(*holding, gpus=1), LISTENERS: (listener(*listening),)}
    observation = observe(facts=facts)
    found = attribute(observation)
    own = pids(found.processes)
    launchers = {service.launcher.pid for service in found.services if service.launcher}
    for one in found.processes:
        assert not protected(one)
        place = {p.pid for p in ancestors(table, one)} | {one.pid, one.pgid, one.sid}
        assert (
            one.comm.startswith("sglang::")
            or place & launchers
            or any(above.comm.startswith("sglang::") for above in ancestors(table, one))
            or keeps_a_launcher(table, one, launchers)
        )
    for group in found.groups:
        assert group > 1
        assert {one.pid for one in table if one.pgid == group} <= own
    assert not {one.pid for one in found.strangers} & own
    assert not pids(found.nominated) & own


@given(tables())
def test_every_process_is_in_one_service_at_most(table):
    services = observe(facts={PROCESSES: table}).services
    members = [one.pid for service in services for one in service.processes]
    assert len(members) == len(set(members))
    assert all(service.processes for service in services)


# Leftovers.

OWN = Segment(name="/dev/shm/sgl_shm_mm_4131_ab", kind="posix", size_bytes=3 * 10**9, creator_pid=4131)
COMMON = Segment(name="/dev/shm/nccl-a1B2", kind="posix", size_bytes=10**9, creator_pid=None)


def left(*segments, processes=(), **facts):
    more = {HOLDERS: facts.get("holders", ())}
    return attribute(observe(*processes, facts={SEGMENTS: segments, **more})).leftovers


def test_segments_of_dead_creators_that_nobody_maps_are_leftovers():
    assert left(OWN, COMMON) == (OWN, COMMON)


def test_a_creator_that_is_a_plain_zombie_is_dead_and_one_with_live_threads_is_not():
    assert left(OWN, processes=(launcher(), zombie(rank(1)))) == (OWN,)
    assert left(OWN, processes=(launcher(), ghost(rank(1)))) == ()


def test_what_somebody_maps_stays():
    assert left(replace(OWN, mappers=(700,))) == ()


def test_what_others_make_too_stays_while_a_service_lives_or_a_gpu_is_held():
    assert left(COMMON, processes=service_processes()) == ()
    assert left(COMMON, holders=holders(BYSTANDER.pid)) == ()
    assert left(COMMON, holders=missing()) == ()


def test_foreign_segments_stay():
    foreign = Segment(name="/dev/shm/pulse-shm-1", kind="posix", size_bytes=1, creator_pid=None)
    old = Segment(name="sysv:3", kind="sysv", size_bytes=1, creator_pid=99999)
    assert left(foreign, old) == ()


def test_a_sysv_segment_is_left_over_where_a_process_that_was_the_services_made_it():
    made = Segment(name="sysv:4", kind="sysv", size_bytes=1, creator_pid=4131)
    scene = observe(facts={SEGMENTS: (made,), HOLDERS: ()})
    assert attribute(scene, earlier=(rank(1),)).leftovers == (made,)
    assert attribute(scene, earlier=(rank(2),)).leftovers == ()
    assert left(made, processes=(launcher(), zombie(rank(1)))) == (made,)
    assert left(made, processes=service_processes()) == ()
    assert left(replace(made, mappers=(700,)), processes=(launcher(), zombie(rank(1)))) == ()


def test_system_processes_of_the_scene_are_as_they_should_be():
    assert [bool(protected(one)) for one in SYSTEM] == [True, True, True, False]
    assert profile().port == RECORD.port


def test_on_a_node_of_an_engine_that_is_not_described_no_segment_is_a_leftover():
    segment = Segment(name="/dev/shm/psm_1", kind="posix", size_bytes=1, creator_pid=77)
    node = replace(NODE, engine="tensorrt-llm")
    assert attribute(observe(node=node, profile=None, facts={SEGMENTS: (segment,)})).leftovers == ()


def test_the_profiles_engine_counts_on_a_node_of_another():
    segment = Segment(name="/dev/shm/vllm_offload_6f1c.mmap", kind="posix", size_bytes=1, creator_pid=None)
    vllm = profile(engine="vllm", flags=())
    assert attribute(observe(profile=vllm, facts={SEGMENTS: (segment,)})).leftovers == (segment,)
    assert attribute(observe(facts={SEGMENTS: (segment,)})).leftovers == ()
