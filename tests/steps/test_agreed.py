"""What a stop may touch: what the plan named and what came from it, by pid and start time; nobody else."""

from dataclasses import replace

from node_scenes import BYSTANDER, SHELL, launcher, observe, process, rank

from fleetops.steps.support.agreed import linked, started_again

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


def test_a_stranger_with_a_pid_of_ours_links_neither_itself_nor_its_children():
    stranger = replace(launcher(), start_ticks=99, comm="payroll-batch")
    child = process(9000, "python3", "python3", ppid=4121, pgid=4121, sid=4121)
    assert linked(PLANNED[:1], (stranger, child)) == ()


def test_who_starts_the_service_again_is_named():
    loop = process(35670, "sh", "sh", "loop.sh")
    fresh = replace(launcher(), pid=5000, pgid=5000, sid=5000, ppid=35670)
    scene = observe(loop, fresh)
    assert started_again(PLANNED, (fresh,), scene).endswith(
        "has been started again by pid 35670 (sh loop.sh)"
    )
    assert started_again(PLANNED, (launcher(),), scene) == ""


def test_init_links_nobody():
    under_init = process(1, "init", "/sbin/init", ppid=0, pgid=1, sid=1)
    assert linked((under_init,), (SHELL, BYSTANDER)) == ()
