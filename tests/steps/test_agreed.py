"""What a stop may touch: what the plan named and what came from it, by pid and start time; nobody else."""

from dataclasses import replace

from node_scenes import BYSTANDER, SHELL, launcher, process, rank

from fleetops.steps.support.agreed import linked

PLANNED = (launcher(), rank(0), rank(1))


def test_the_planned_processes_that_still_live_are_meant():
    assert linked(PLANNED, (launcher(), rank(1), BYSTANDER)) == (launcher(), rank(1))


def test_a_child_that_came_since_is_meant_too_and_its_child():
    fresh = process(5000, "python3", "python3", ppid=4121, pgid=5000, sid=5000)
    below = process(5001, "python3", "python3", ppid=5000, pgid=5001, sid=5001)
    assert linked(PLANNED, (launcher(), fresh, below)) == (launcher(), fresh, below)


def test_an_orphan_of_the_planned_session_is_meant():
    stray = process(5000, "python3", "python3", ppid=1, pgid=4121, sid=4121)
    assert linked(PLANNED, (stray,)) == (stray,)


def test_another_service_that_took_its_place_is_not():
    other = process(7000, "python3", "python3", "-m", "sglang.launch_server")
    assert linked(PLANNED, (other, replace(rank(0), pid=7001, ppid=7000, pgid=7000, sid=7000))) == ()


def test_a_pid_that_was_given_to_somebody_else_is_not():
    assert (
        linked((replace(launcher(), pgid=1),), (replace(launcher(), start_ticks=99, pgid=900, sid=900),))
        == ()
    )


def test_init_links_nobody():
    under_init = process(1, "init", "/sbin/init", ppid=0, pgid=1, sid=1)
    assert linked((under_init,), (SHELL, BYSTANDER)) == ()
