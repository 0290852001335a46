"""The stop as it is planned: what starts the service again first, outermost first, and only then the service."""

from dataclasses import replace

import pytest
from node_scenes import NODE, launcher, observe, process
from supervisor_scenes import ID, PIDS, SERVICE, container, found_on, keepers, loop, under, unit

from fleetops.checks import judge
from fleetops.model.fleet import Inventory
from fleetops.steps.keep_evidence import STEP as EVIDENCE
from fleetops.steps.stop_service import STEP
from fleetops.steps.support.agreed import linked
from fleetops.steps.support.base import Situation


def planned(*processes, **supervisors):
    situation = situation_of(observe(*processes, facts=keepers(**supervisors)))
    return STEP.plan(situation, STEP.settle({}))


def situation_of(observation):
    return Situation(
        inventory=Inventory(path=".", nodes={"node-174": NODE}),
        observation=observation,
        findings=judge(observation),
        before=observation,
        run_id="run",
    )


def argvs(plan):
    return [action.command.argv for action in plan.actions]


def test_a_unit_is_stopped_by_systemd_and_its_processes_get_no_signal_of_ours_before_the_grace_is_over():
    plan = planned(*SERVICE, units=(unit(),))
    stop, kill = argvs(plan)
    assert stop == ("systemctl", "stop", "--no-block", "--", "sglang.service")
    assert kill[4] == "KILL"
    assert plan.detail.startswith("through unit sglang.service (Restart=always, enabled); TERM, 20 s, KILL")


def test_what_runs_outside_of_the_unit_is_asked_by_itself():
    stop, term, _ = argvs(planned(*SERVICE, units=(unit(pids=PIDS[:-1]),)))
    assert stop[0] == "systemctl"
    assert term[4:] == ("TERM", f"{PIDS[-1]}:{10_000 + PIDS[-1]}")


def test_a_unit_of_a_users_manager_is_stopped_as_that_user():
    stop = argvs(planned(*SERVICE, units=(unit(uid=1000),)))[0]
    assert stop[4:] == ("1000", "systemctl", "--user", "stop", "--no-block", "--", "sglang.service")


def test_dockers_container_is_stopped_by_its_id_within_the_grace():
    plan = planned(*SERVICE, containers=(container(),))
    stop = plan.actions[0].command
    assert stop.argv == ("docker", "stop", "-t", "20", ID)
    assert stop.deadline_s == 40
    assert stop.root


def test_a_users_podman_is_asked_as_that_user():
    stop = argvs(planned(*SERVICE, containers=(container(runtime="podman", uid=1000),)))[0]
    assert stop[4:] == ("1000", "podman", "stop", "-t", "20", ID)


def test_the_unit_that_runs_the_containers_client_is_stopped_before_the_container():
    client = process(5000, "docker", "/usr/bin/docker", "run", "--rm", "--name", "sglang", "lmsysorg/sglang")
    by = unit(main_pid=5000, pids=(5000,), command=client.cmdline)
    first, second, *_ = argvs(planned(*SERVICE, client, units=(by,), containers=(container(),)))
    assert (first[0], second[0]) == ("systemctl", "docker")


def test_the_shells_of_a_loop_are_ended_before_anything_of_the_service():
    outer, inner = loop(1990, "bash", "-c", "while :; do ./serve.sh; done"), loop(2000, ppid=1990)
    first, term, _ = argvs(planned(*under(2000), outer, inner))
    assert first[4:] == ("TERM", "1990:11990", "2000:12000")
    assert not {"1990:11990", "2000:12000"} & set(term[5:])


@pytest.mark.parametrize("status", ["restarting", "exited"])
def test_a_container_that_is_between_two_runs_is_stopped_though_nothing_of_it_lives(status):
    plan = planned(containers=(container(pid=0, pids=(), status=status),))
    if status == "restarting":
        assert argvs(plan) == [("docker", "stop", "-t", "20", ID)]
        assert plan.detail.endswith("which waits to start it")
    else:
        assert plan.skip


def test_one_that_cannot_be_stopped_refuses_by_name_and_says_what_to_do():
    manager = process(2000, "supervisord", "python3", "/usr/bin/supervisord")
    plan = planned(*under(2000), manager)
    assert plan.guard == "supervisor"
    assert "pid 2000 (python3 /usr/bin/supervisord) keeps the service on node-174" in plan.blocked
    assert plan.mend == "stop the service there, then run the same command again"


def test_what_a_loop_has_started_since_the_plan_is_the_services_too():
    agreed = found_on(*under(2000), loop()).processes
    fresh = replace(launcher(), pid=9000, pgid=9000, sid=9000, ppid=2000)
    assert linked(agreed, (loop(), fresh)) == (loop(), fresh)


def test_before_the_stop_what_the_journal_and_the_containers_log_hold_is_kept():
    found = {"units": (unit(),), "containers": (container(),)}
    observation = observe(*SERVICE, facts=keepers(**found))
    kept = EVIDENCE.plan(situation_of(observation), EVIDENCE.settle({})).actions
    told = {action.why: action.command for action in kept}
    assert told["keep supervisor-1.log"].argv[-1] == "--unit=sglang.service"
    assert told["keep supervisor-2.log"].argv[4:] == ("docker", "logs", "--tail", "20000", ID)
    assert not any(command.changes for command in told.values())


LINE = "    python3 -m sglang.launch_server --model-path /models/example --tp 8 --port 30000 > log 2>&1"
NAP = process(2100, "sleep", "sleep", "60", ppid=2000)


@pytest.mark.parametrize(
    ("shell", "scripts"),
    [
        (loop(), ((2000, LINE),)),
        (loop(2000, "bash", "-c", f"while :; do {LINE}; sleep 60; done"), ()),
    ],
    ids=["script", "-c"],
)
def test_a_loop_that_sleeps_between_two_runs_is_ended_though_nothing_of_the_service_lives(shell, scripts):
    plan = planned(shell, NAP, scripts=scripts)
    assert [argv[4:] for argv in argvs(plan)] == [("TERM", "2000:12000")]
    assert plan.detail.startswith(f"through the shell {shell.title[:60]}")
    assert plan.detail.endswith("(pid 2000), which waits to start it")


def test_one_that_sleeps_within_a_unit_is_stopped_by_the_unit():
    by = unit(command=("/root/serve.sh",), main_pid=2000, pids=(2000, 2100))
    plan = planned(loop(), NAP, units=(by,), scripts=((2000, LINE),))
    assert argvs(plan) == [("systemctl", "stop", "--no-block", "--", "sglang.service")]


@pytest.mark.parametrize(
    "scripts",
    [
        ((2000, LINE.replace("30000", "30001")),),
        ((2000, LINE.replace("30000", "$PORT")),),
        ((2000, "tail -f vllm.log"),),
    ],
    ids=["another port", "a port that is not told", "no server"],
)
def test_a_shell_that_would_not_start_this_service_is_let_be(scripts):
    assert planned(loop(), NAP, scripts=scripts).skip


def test_a_sleeping_loop_with_something_else_under_it_is_named():
    other = process(2200, "python3", "python3", "payroll.py", ppid=2000)
    plan = planned(loop(), NAP, other, scripts=((2000, LINE),))
    assert plan.guard == "supervisor"
    assert "2200 (python3 payroll.py)" in plan.blocked
