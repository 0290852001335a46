"""Which processes are a service: by what the kernel keeps, not by what an argument mentions."""

from dataclasses import replace

import pytest
from node_scenes import (
    COMMAND,
    LAUNCHER_PID,
    PORT,
    RECORD,
    SYSTEM,
    detokenizer,
    ghost,
    incident,
    launcher,
    listener,
    process,
    rank,
    service_processes,
    zombie,
)  # fmt: skip

from fleetops.engines import engine
from fleetops.engines.condition import Condition, condition, missing_ranks
from fleetops.engines.sglang import rank_number

SGLANG = engine("sglang")


def only(*processes, **more):
    (service,) = SGLANG.find_services((*SYSTEM, *processes), **more)
    return service


def test_a_healthy_server_is_one_service_with_its_ranks_in_order():
    service = only(*reversed(service_processes()))
    assert service.launcher == launcher()
    assert [one.number for one in service.ranks] == list(range(8))
    assert service.others == (detokenizer(),)
    assert service.port == PORT
    assert service.flags["hicache_size"] == "48"
    assert service.flags["enable_hierarchical_cache"] == "true"
    assert condition(service) is Condition.WHOLE


def test_zombies_are_ranks_though_their_command_line_is_gone():
    service = only(*incident())
    assert len(service.ranks) == 8
    assert [one.number for one in service.ranks] == [7, *[None] * 7]
    assert condition(service) is Condition.WEDGED


def test_a_server_of_one_rank_has_a_plain_title():
    head = process(50, "python3", "python3", "-m", "sglang.launch_server", "--model-path", "m")
    worker = process(51, "sglang::schedul", "sglang::scheduler", ppid=50, pgid=50, sid=50)
    service = only(head, worker)
    assert [one.number for one in service.ranks] == [0]
    assert service.port == PORT, "the default port, as none was given"


@pytest.mark.parametrize(
    ("title", "number"),
    [
        ("sglang::scheduler", 0),
        ("sglang::scheduler_TP3", 3),
        ("sglang::scheduler_DP1_PP0_TP12_EP12", 12),
        ("sglang::scheduler_DP1_TP2_EP2_PP1", 2),
        ("sglang::detokenizer", None),
        ("", None),
    ],
)
def test_the_rank_is_read_from_the_title(title, number):
    assert rank_number(title) == number


@pytest.mark.parametrize(
    "argv",
    [
        ("python3", "-m", "sglang.launch_server", "--port", "7"),
        (
            "/opt/venv/bin/python3.11",
            "-u",
            "-X",
            "dev",
            "-W",
            "ignore",
            "-m",
            "sglang.launch_server",
            "--port=7",
        ),
        ("python", "-Wignore", "-um", "sglang.launch_server", "--port", "7"),
        ("python3", "/root/sglang/python/sglang/launch_server.py", "--port", "7"),
        ("/usr/bin/python3", "/usr/local/bin/sglang", "serve", "--model-path", "m", "--port", "7"),
        ("sglang", "serve", "--port", "7"),
    ],
)
def test_these_command_lines_are_launchers(argv):
    assert only(process(50, "python3", *argv)).port == 7


@pytest.mark.parametrize(
    "argv",
    [
        ("vim", "/root/sglang/launch_server.py"),
        ("grep", "-rn", "sglang::scheduler", "/var/log"),
        ("tail", "-f", "/root/sglang.log"),
        ("python3", "-m", "sglang.bench_serving", "--backend", "sglang", "--port", "30000"),
        ("python3", "client.py", "-m", "sglang.launch_server"),
        ("python3", "-c", "print('sglang.launch_server')", "-m", "sglang.launch_server"),
        ("bash", "-c", "python3 -m sglang.launch_server --port 7"),
        ("nsys", "profile", "python3", "-m", "sglang.launch_server"),
        ("sglang", "generate", "--port", "7"),
        ("sglang::scheduler_TP0", "1000"),
        (),
    ],
)
def test_what_only_mentions_the_server_is_none(argv):
    comm = argv[0].rpartition("/")[2][:15] if argv else "python3"
    decoy = "sleep" if comm.startswith("sglang::") else comm
    assert SGLANG.find_services((*SYSTEM, process(50, decoy, *argv))) == ()


@pytest.mark.parametrize(
    "wrapper",
    [
        ("bash", "-c", "cd /root && python3 -m sglang.launch_server"),
        ("uv", "run", "python", "-m", "sglang.launch_server"),
        ("nohup", "python3", "-m", "sglang.launch_server"),
        ("sudo", "python3", "-m", "sglang.launch_server"),
    ],
)
def test_a_wrapper_is_not_the_launcher_and_not_of_the_service(wrapper):
    above = process(4000, wrapper[0], *wrapper)
    service = only(above, *(replace(one, pgid=4000, sid=4000) for one in service_processes(ppid=LAUNCHER_PID)[1:]),
                   launcher(ppid=4000, pgid=4000, sid=4000))  # fmt: skip
    assert service.launcher.pid == LAUNCHER_PID
    assert above not in service.processes


def test_a_child_that_still_bears_its_parents_command_line_is_no_second_launcher():
    fork = process(4150, "python3", *COMMAND, ppid=LAUNCHER_PID, pgid=LAUNCHER_PID, sid=LAUNCHER_PID)
    service = only(*service_processes(), fork)
    assert service.launcher.pid == LAUNCHER_PID
    assert fork in service.others


def test_a_child_that_a_rank_has_just_forked_is_no_rank():
    fork = replace(rank(3), pid=4200, ppid=rank(3).pid, state="D")
    service = only(*service_processes(), fork)
    assert len(service.ranks) == 8
    assert fork in service.others


def test_data_parallel_ranks_hang_under_their_controller():
    head = process(50, "python3", "python3", "-m", "sglang.launch_server", "--dp", "2", "--tp-size=2")
    controller = process(51, "sglang::data_pa", "sglang::data_parallel_controller", ppid=50)
    ranks = [
        process(60 + 2 * dp + tp, "sglang::schedul", f"sglang::scheduler_DP{dp}_TP{tp}", ppid=51)
        for dp in range(2)
        for tp in range(2)
    ]
    service = only(head, controller, *ranks)
    assert [one.number for one in service.ranks] == [0, 0, 1, 1]
    assert service.others == (controller,)
    assert missing_ranks(service) == 0


def test_a_dead_controllers_ranks_stay_with_their_launcher():
    loose = rank(7, ppid=1)
    service = only(*service_processes()[:8], loose)
    assert loose in [one.process for one in service.ranks]


def test_orphans_of_a_dead_launcher_are_one_service_without_launcher():
    orphans = [rank(number, ppid=1) for number in range(8)]
    tracker = process(
        4129, "python3", "python3", "-c", "from multiprocessing.resource_tracker import main;main(9)",
        pgid=LAUNCHER_PID, sid=LAUNCHER_PID,
    )  # fmt: skip
    service = only(*orphans, detokenizer(ppid=1), tracker)
    assert service.launcher is None
    assert service.port is None
    assert len(service.ranks) == 8
    assert {one.pid for one in service.others} == {4129, 4140}
    assert condition(service) is Condition.ORPHANED


def test_orphans_of_two_dead_launchers_are_two_services():
    first = [rank(number, ppid=1) for number in range(2)]
    second = [replace(rank(number, ppid=1, pgid=77, sid=77), pid=80 + number) for number in range(2)]
    assert len(SGLANG.find_services((*SYSTEM, *first, *second))) == 2


def test_two_servers_on_one_node_are_told_apart():
    other = process(600, "python3", "python3", "-m", "sglang.launch_server", "--port", "30001", "--tp", "1")
    worker = process(601, "sglang::schedul", "sglang::scheduler", ppid=600, pgid=600, sid=600)
    first, second = sorted(
        SGLANG.find_services((*SYSTEM, *service_processes(), other, worker)), key=lambda one: one.port
    )
    assert (first.port, len(first.ranks)) == (30000, 8)
    assert (second.port, [one.process for one in second.ranks]) == (30001, [worker])


def test_a_launcher_whose_main_thread_is_gone_is_known_by_its_workers():
    service = only(ghost(launcher()), *service_processes()[1:], listeners=(listener(LAUNCHER_PID),))
    assert service.launcher.pid == LAUNCHER_PID
    assert service.port == PORT, "from what it listens on, as its command line is gone"
    assert condition(service) is Condition.WEDGED


def test_a_recorded_launcher_that_is_a_zombie_is_known_by_its_record():
    service = only(zombie(launcher()), records=(RECORD,))
    assert service.launcher.is_zombie
    assert service.port == PORT


def test_a_record_whose_pid_now_is_another_process_counts_for_nothing():
    stale = replace(RECORD, start_ticks=1)
    assert SGLANG.find_services((*SYSTEM, process(LAUNCHER_PID, "nginx", "nginx")), records=(stale,)) == ()


def test_a_recorded_process_of_another_kind_is_left_to_its_own_engine():
    other = process(LAUNCHER_PID, "vllm", "/usr/bin/python3", "/usr/bin/vllm", "serve", "m")
    assert SGLANG.find_services((*SYSTEM, other), records=(RECORD,)) == ()


def test_a_server_that_is_pid_1_does_not_take_the_whole_container():
    head = process(1, "python3", *COMMAND, ppid=0)
    workers = [rank(number, ppid=1) for number in range(8)]
    (service,) = SGLANG.find_services((head, *SYSTEM[1:], *workers))
    assert [one.process for one in service.ranks] == workers
    assert service.others == ()


def test_ranks_that_are_being_started_are_not_missed():
    spawn = (
        "python3",
        "-c",
        "from multiprocessing.spawn import spawn_main; spawn_main(9)",
        "--multiprocessing-fork",
    )
    untitled = [process(5000 + number, "python3", *spawn, ppid=LAUNCHER_PID) for number in range(5)]
    assert condition(only(launcher())) is Condition.STARTING
    assert condition(only(launcher(), rank(0), *untitled)) is Condition.STARTING
    assert condition(only(launcher(), rank(0))) is Condition.WEDGED


@pytest.mark.parametrize(
    ("flags", "ranks"),
    [
        ({}, 1),
        ({"tp": "8"}, 8),
        ({"tensor_parallel_size": "4", "pp_size": "2"}, 8),
        ({"tp_size": "2", "dp_size": "2"}, 4),
        ({"tp_size": "8", "dp_size": "8", "enable_dp_attention": "true"}, 8),
        ({"tp_size": "16", "nnodes": "2"}, 8),
    ],
)
def test_the_flags_say_how_many_ranks_there_are(flags, ranks):
    assert SGLANG.expected_ranks(flags) == ranks
