"""Which processes are a vLLM service: titles by release, none at all, another prefix, and the orphans of a killed server."""

from dataclasses import replace

import pytest
from node_scenes import NODE, SYSTEM, holders, incident, observe, process, profile, zombie
from vllm_scenes import (
    COMMAND,
    CORE_PID,
    PID,
    RECORD,
    TRACKER,
    core,
    member,
    orphans,
    server,
    tracker,
    two_ranks,
    untitled,
    worker,
)

from fleetops.checks import judge
from fleetops.engines import engine
from fleetops.engines.attribution import attribute
from fleetops.engines.condition import Condition, condition, missing_ranks
from fleetops.engines.support.vllm_shape import rank_number
from fleetops.model.engine import SERVICE_RECORDS
from fleetops.model.machine import HOLDERS

VLLM = engine("vllm")
BARE = replace(NODE, engine="vllm", profile="vllm-small", guest=None, hypervisor="")
PROFILE = profile(name="vllm-small", engine="vllm", ranks=2, port=8000, flags=())


def only(*processes, **more):
    (service,) = VLLM.find_services((*SYSTEM, *processes), **more)
    return service


def test_a_healthy_server_is_one_service_of_its_workers():
    service = only(*two_ranks())
    assert service.launcher == server()
    assert [one.number for one in service.ranks] == [0, 1]
    assert service.others == (tracker(), core())
    assert (service.port, service.flags["tensor_parallel_size"]) == (8000, "2")
    assert condition(service) is Condition.WHOLE


def test_the_other_engine_sees_nothing_in_it():
    assert engine("sglang").find_services((*SYSTEM, *two_ranks())) == ()
    assert VLLM.find_services((*SYSTEM, *incident())) == ()


def test_with_one_rank_and_no_worker_the_engine_core_is_the_rank():
    head = process(PID, "vllm", "/opt/vllm/bin/python", "/opt/vllm/bin/vllm", "serve", "/models/small")
    service = only(head, tracker(), core())
    assert [(one.number, one.process) for one in service.ranks] == [(0, core())]
    assert (service.port, condition(service)) == (8000, Condition.WHOLE)


def test_each_data_parallel_group_has_an_engine_core():
    head = process(PID, "python3", *COMMAND[:5], "-dp", "2", "--port=9000")
    cores = [member(CORE_PID + n, "VLLM::EngineCor", f"VLLM::EngineCore_DP{n}", ppid=PID) for n in (0, 1)]
    coordinator = member(60, "VLLM::DPCoordin", "VLLM::DPCoordinator", ppid=PID)
    service = only(head, *cores, coordinator)
    assert [one.process for one in service.ranks] == cores
    assert (service.others, service.port, condition(service)) == ((coordinator,), 9000, Condition.WHOLE)
    assert missing_ranks(only(head, cores[0])) == 1


def test_an_engine_core_without_its_workers_is_being_started():
    service = only(server(), tracker(), core())
    assert (service.ranks, condition(service)) == ((), Condition.STARTING)


def test_a_dead_worker_or_engine_core_wedges_it():
    assert condition(only(server(), core(), worker(0), zombie(worker(1)))) is Condition.WEDGED
    dead_core = only(server(), zombie(core()), worker(0), worker(1))
    assert (len(dead_core.ranks), condition(dead_core)) == (2, Condition.WEDGED)
    gone = only(server(), core(), worker(0))
    assert (condition(gone), missing_ranks(gone)) == (Condition.WEDGED, 1)


def test_a_dead_engine_core_is_a_finding():
    found = judge(observe(server(), zombie(core()), worker(0), worker(1), node=BARE, profile=PROFILE))
    (dead,) = [one for one in found if one.check == "ranks-dead"]
    assert "VLLM::EngineCor" in dead.evidence
    assert "15443" in dead.evidence


def test_what_the_engine_core_has_just_forked_may_end_without_harm():
    forked = zombie(replace(core(), pid=999, ppid=CORE_PID))
    assert condition(only(*two_ranks(), forked)) is Condition.WHOLE


def test_without_titles_the_last_of_the_spawned_processes_are_the_ranks():
    """0.8.5, and any release without the package setproctitle."""
    spawned = (untitled(CORE_PID, PID), untitled(101, CORE_PID), untitled(102, CORE_PID))
    service = only(server(), tracker(), *spawned)
    assert [one.process.pid for one in service.ranks] == [101, 102]
    assert [one.number for one in service.ranks] == [None, None]
    assert condition(service) is Condition.WHOLE
    starting = only(server(), tracker(), *spawned[:1])
    assert condition(starting) is Condition.STARTING
    dead = only(server(), *spawned[:2], zombie(spawned[2]))
    assert condition(dead) is Condition.WEDGED


def test_forked_processes_that_kept_the_command_line_are_no_second_server():
    copies = [member(pid, "python3", *COMMAND, ppid=ppid) for pid, ppid in ((50, PID), (51, 50), (52, 50))]
    service = only(server(), *copies)
    assert [one.process.pid for one in service.ranks] == [51, 52]


def test_another_prefix_is_known_while_the_process_lives():
    """VLLM_PROCESS_NAME_PREFIX."""
    workers = [member(90 + n, "blue::Worker_TP", f"blue::Worker_TP{n}", ppid=80) for n in (0, 1)]
    there = (member(80, "blue::EngineCor", "blue::EngineCore", ppid=PID), *workers)
    assert [one.number for one in only(server(), *there).ranks] == [0, 1]
    left = only(replace(there[0], ppid=1), *workers)
    assert (left.launcher, len(left.processes)) == (None, 3)


@pytest.mark.parametrize(
    "title", ["sglang::scheduler_TP0", "ray::Worker", "blue::Workers", "VLLM", "x::Worker_of_mine"]
)
def test_other_titles_are_not_vllms(title):
    assert not VLLM.is_worker(process(5, title[:15], title))


@pytest.mark.parametrize(
    ("title", "number"),
    [
        ("VLLM::Worker", 0),
        ("VLLM::EngineCore", 0),
        ("VLLM::Worker_TP3", 3),
        ("VLLM::Worker_DP1_PP0_TP12_EP12", 12),
        ("VLLM::APIServer_1", None),
        ("VLLM::DPCoordinator", None),
        ("", None),
    ],
)
def test_the_rank_is_read_from_the_title(title, number):
    assert rank_number(title) == number


@pytest.mark.parametrize(
    "argv",
    [
        ("python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "m", "--port", "7"),
        ("python3", "-um", "vllm.entrypoints.cli.main", "serve", "m", "--port=7"),
        ("/opt/v/bin/python", "/opt/v/bin/vllm", "serve", "m", "--port", "7"),
        ("vllm", "serve", "--port", "7", "m"),
        ("python3", "/src/vllm/entrypoints/openai/api_server.py", "--port", "7"),
    ],
)
def test_these_command_lines_are_servers(argv):
    assert only(process(50, "python3", *argv)).port == 7


@pytest.mark.parametrize(
    "argv",
    [
        ("vllm", "bench", "serve", "--port", "7"),
        ("vllm", "chat"),
        ("python3", "-m", "vllm.entrypoints.cli.main", "run-batch"),
        ("sh", "-c", "vllm serve m"),
        ("vim", "vllm/entrypoints/openai/api_server.py"),
    ],
)
def test_what_only_mentions_a_server_is_none(argv):
    assert VLLM.find_services((*SYSTEM, process(50, "x", *argv))) == ()


@pytest.mark.parametrize(
    ("flags", "ranks"),
    [
        ({}, 1),
        ({"tensor_parallel_size": "8"}, 8),
        ({"tp": "4", "pp": "2"}, 8),
        ({"tensor_parallel_size": "2", "data_parallel_size": "4"}, 8),
        ({"tensor_parallel_size": "2", "data_parallel_size": "8", "data_parallel_size_local": "2"}, 4),
        ({"tensor_parallel_size": "8", "pipeline_parallel_size": "2", "nnodes": "2"}, 8),
    ],
)
def test_the_flags_say_how_many_ranks_there_are(flags, ranks):
    assert VLLM.expected_ranks(flags) == ranks


def test_short_options_are_understood():
    service = only(process(50, "vllm", "vllm", "serve", "m", "-tp", "4", "-pp=2"))
    assert VLLM.expected_ranks(service.flags) == 8


def test_orphans_of_a_killed_server_are_one_service_with_their_tracker():
    service = only(*orphans())
    assert (service.launcher, service.port) == (None, None)
    assert {one.pid for one in service.processes} == {one.pid for one in orphans()}
    assert [one.number for one in service.ranks] == [0, 1]
    assert condition(service) is Condition.ORPHANED


def test_orphans_are_the_services_by_their_record_or_by_the_gpus_that_they_hold():
    recorded = observe(*orphans(), node=BARE, profile=PROFILE, facts={SERVICE_RECORDS: (RECORD,)})
    held = observe(*orphans(), node=BARE, profile=PROFILE, facts={HOLDERS: holders(17848, gpus=2)})
    for observation in (recorded, held):
        assert {one.pid for one in attribute(observation).processes} == {one.pid for one in orphans()}
    alone = attribute(observe(*orphans(), node=BARE, profile=PROFILE))
    assert alone.processes == ()
    assert {one.pid for one in alone.nominated} == {one.pid for one in orphans()}


def test_orphans_without_titles_are_known_by_the_record_of_their_launch_alone():
    left = (member(15442, "python3", *TRACKER, ppid=1), untitled(CORE_PID, 1), untitled(101, CORE_PID))
    service = only(*left, records=(RECORD,))
    assert {one.pid for one in service.processes} == {15442, CORE_PID, 101}
    assert VLLM.find_services((*SYSTEM, *left)) == ()
    assert VLLM.find_services((*SYSTEM, *left), records=(replace(RECORD, engine="sglang"),)) == ()


def test_a_recorded_server_that_is_a_zombie_is_of_the_engine_that_was_launched():
    dead = zombie(server())
    assert only(dead, records=(RECORD,)).port == 8000
    assert engine("sglang").find_services((*SYSTEM, dead), records=(RECORD,)) == ()
