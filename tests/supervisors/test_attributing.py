"""Whose supervisor it is: shown to be the service's alone, or named with what stands against stopping it."""

from dataclasses import replace

import pytest
from node_scenes import LAUNCHER_PID, holders, missing, observe, process, rank
from supervisor_scenes import ID, SERVICE, TMUX, container, found_on, keepers, loop, under, unit

from fleetops.engines.attribution import attribute
from fleetops.model.machine import HOLDERS
from fleetops.model.supervisor import SUPERVISORS, Terminal

SSHD = process(300, "sshd", "/usr/sbin/sshd", "-D")


def doubts(found):
    return [one.doubt for one in found.supervisors]


def test_without_a_supervisor_there_is_none():
    assert found_on(*SERVICE).supervisors == ()


def test_a_unit_that_holds_nothing_but_the_service_is_its_own():
    [one] = found_on(*SERVICE, units=(unit(),)).supervisors
    assert one.title == "unit sglang.service (Restart=always, enabled)"
    assert one.unit == unit()
    assert one.doubt == ""


def test_a_units_main_process_that_is_the_launcher_makes_the_unit_the_services_whatever_else_is_in_it():
    helper = process(950, "python3", "python3", "exporter.py")
    assert doubts(found_on(*SERVICE, helper, units=(unit(pids=(*unit().pids, 950)),))) == [""]


def test_a_unit_that_runs_a_manager_of_several_things_is_named_with_them():
    manager = process(2000, "python3", "python3", "manager.py")
    other = process(950, "python3", "python3", "payroll.py", ppid=2000)
    held = unit(main_pid=2000, pids=(2000, 950, *unit().pids))
    [doubt] = doubts(found_on(*under(2000), manager, other, units=(held,)))
    assert doubt == "it runs other things as well: 950 (python3 payroll.py)"


def test_a_service_that_merely_lives_in_the_unit_of_sshd_is_not_kept_by_it():
    ssh = unit(name="ssh.service", main_pid=300, pids=(300, *unit().pids), restart="on-failure")
    assert found_on(*SERVICE, SSHD, units=(ssh,)).supervisors == ()
    assert found_on(*under(300), SSHD, units=(ssh,)).supervisors == ()


def test_a_unit_that_a_timer_starts_as_well_is_not_stopped():
    [doubt] = doubts(found_on(*SERVICE, units=(unit(triggered_by=("sglang.timer",)),)))
    assert "sglang.timer" in doubt


def test_the_unit_of_a_launch_is_no_operators():
    ours = unit(name="fleetops-hicache48-r1.service", transient=True)
    assert found_on(*SERVICE, units=(ours,)).supervisors == ()


def test_a_container_is_the_services_by_its_cgroup_or_by_its_first_process():
    assert doubts(found_on(*SERVICE, containers=(container(),))) == [""]
    [one] = found_on(*SERVICE, containers=(container(pids=(), restart="no"),)).supervisors
    assert one.title == "container sglang (docker, restart no)"


def test_a_unit_that_runs_the_containers_client_comes_before_the_container():
    client = process(5000, "docker", "/usr/bin/docker", "run", "--rm", "--name", "sglang", "lmsysorg/sglang")
    run = unit(name="sglang.service", main_pid=5000, pids=(5000,), command=client.cmdline)
    found = found_on(*SERVICE, client, units=(run,), containers=(container(),))
    assert [bool(one.unit) for one in found.supervisors] == [True, False]
    assert doubts(found) == ["", ""]


def test_what_nobody_tells_of_is_named_by_its_cgroup():
    [pod] = found_on(*SERVICE, lives_in=((LAUNCHER_PID, ID),), silent=("docker",)).supervisors
    assert pod.title == "container 4f1c4f1c4f1c"
    assert "docker gave no answer" in pod.doubt


def test_a_shell_that_runs_a_script_is_a_loop_and_may_be_ended():
    found = found_on(*under(2000), loop(), terminals=(TMUX,))
    [one] = found.supervisors
    assert one.title == "the shell sh /root/serve.sh (pid 2000, tmux session work)"
    assert one.shells == (loop(),)
    assert found.why[2000] == "the shell that starts it again"
    assert loop() in found.processes


def test_a_loop_below_screen_is_known_by_screens_own_pid():
    screen = process(1999, "screen", "SCREEN", "-dmS", "night")
    found = found_on(
        *under(2000), screen, loop(ppid=1999), terminals=(Terminal(program="screen", pid=1999, name="night"),)
    )
    assert found.supervisors[0].title.endswith("screen session night)")


def test_of_shells_within_shells_the_outermost_comes_first():
    outer, inner = loop(1990, "bash", "-c", "while :; do ./serve.sh; done"), loop(2000, ppid=1990)
    assert found_on(*under(2000), outer, inner).supervisors[0].shells == (outer, inner)


@pytest.mark.parametrize("shell", [("-bash",), ("bash",), ("sh", "-s")])
def test_a_shell_at_which_somebody_sits_is_never_a_loop(shell):
    found = found_on(*under(2000), process(2000, "bash", *shell))
    assert found.supervisors == ()
    assert 2000 not in found.why


def test_a_loop_with_something_else_under_it_is_named_and_left():
    other = process(2100, "python3", "python3", "payroll.py", ppid=2000)
    found = found_on(*under(2000), loop(), other)
    assert doubts(found) == ["it runs other things as well: 2100 (python3 payroll.py)"]
    assert 2000 not in found.why


def test_what_stands_in_the_loops_pipeline_is_nothing_else():
    tee = process(2100, "tee", "tee", "-a", "serve.log", ppid=2000)
    assert doubts(found_on(*under(2000), loop(), tee)) == [""]


def test_a_loop_within_the_units_own_script_is_the_units():
    held = unit(main_pid=2000, pids=(2000, *unit().pids))
    found = found_on(*under(2000), loop(), units=(held,))
    assert [one.unit for one in found.supervisors] == [held]
    assert found.why[2000] == "the shell that starts it again"


def test_a_program_that_fleetops_cannot_speak_to_refuses():
    daemon = process(2000, "supervisord", "python3", "/usr/bin/supervisord", "-n")
    [one] = found_on(*under(2000), daemon).supervisors
    assert one.title == "pid 2000 (python3 /usr/bin/supervisord -n)"
    assert one.doubt


def test_facts_that_are_missing_refuse_where_a_service_lives_and_only_there():
    [one] = attribute(observe(*SERVICE, facts={SUPERVISORS: missing()})).supervisors
    assert "could not be read" in one.doubt
    assert attribute(observe(facts={SUPERVISORS: missing()})).supervisors == ()


def test_the_unit_that_orphans_live_in_is_theirs():
    orphans = tuple(replace(rank(number), ppid=1) for number in range(8))
    pids = tuple(one.pid for one in orphans)
    held = unit(main_pid=0, active="deactivating", pids=pids)
    facts = {HOLDERS: holders(*pids), **keepers(units=(held,))}
    assert [one.unit for one in attribute(observe(*orphans, facts=facts)).supervisors] == [held]


def test_a_long_script_is_cut_and_its_secrets_are_masked():
    words = ("bash", "-c", f"while :; do HF_TOKEN=s3cret ./serve.sh {'x' * 200}; done")
    [one] = found_on(*under(2000), loop(2000, *words)).supervisors
    assert "s3cret" not in one.title
    assert len(one.title) < 140
