"""The stop: planned with its processes, refused while somebody stands by who cannot be told from the service."""

from dataclasses import replace

from node_scenes import NODE, detokenizer, holders, incident, launcher, missing, observe, process, rank

from fleetops.checks import judge
from fleetops.model.fleet import Inventory
from fleetops.model.machine import HOLDERS, PROCESSES
from fleetops.steps.stop_service import STEP
from fleetops.steps.support.base import Situation

WHOLE = (launcher(), *(rank(number) for number in range(8)), detokenizer())


def planned(*processes, facts=None):
    observation = observe(*processes, facts=facts or {})
    situation = Situation(
        inventory=Inventory(path=".", nodes={"node-174": NODE}),
        observation=observation,
        findings=judge(observation),
        before=observation,
        run_id="run",
    )
    return STEP.plan(situation, STEP.settle({}))


def test_the_plan_names_every_living_process_by_pid_and_start_time():
    plan = planned(*WHOLE)
    term, kill = plan.actions
    assert term.command.argv[4] == "TERM"
    assert kill.command.argv[4] == "KILL"
    assert set(term.command.argv[5:]) == {f"{one.pid}:{one.start_ticks}" for one in WHOLE}


def test_a_whole_service_gets_a_long_grace_and_a_wedged_one_a_short_one():
    assert "TERM, 20 s" in planned(*WHOLE).detail
    assert "TERM, 3 s" in planned(*incident()).detail


def test_the_dead_are_not_signalled_but_leaders_with_live_threads_are():
    dead = [one for one in incident() if one.is_zombie and not one.is_ghost_leader]
    ghosts = [one for one in incident() if one.is_ghost_leader]
    signalled = set(planned(*incident()).actions[0].command.argv[5:])
    assert signalled.isdisjoint(f"{one.pid}:{one.start_ticks}" for one in dead)
    assert signalled.issuperset(f"{one.pid}:{one.start_ticks}" for one in ghosts)
    assert "2 dead leaders with live threads" in planned(*incident()).detail


def test_somebody_elses_process_on_the_gpus_refuses():
    notebook = process(900, "python3", "python3", "notebook.py")
    plan = planned(*WHOLE, notebook, facts={HOLDERS: holders(900)})
    assert "900 (python3 notebook.py) holds the GPUs" in plan.blocked


def test_a_process_that_only_calls_itself_like_the_service_refuses_and_is_named():
    lookalike = replace(rank(9), pid=950, ppid=1, pgid=950, sid=950)
    assert "950 (sglang::scheduler_TP9)" in planned(*WHOLE, lookalike).blocked


def test_facts_that_are_missing_refuse():
    assert "could not be read" in planned(*WHOLE, facts={HOLDERS: missing()}).blocked
    assert "could not be read" in planned(facts={PROCESSES: missing()}).blocked


def test_without_a_service_there_is_nothing_to_stop():
    assert planned().skip == "no process of the service is left"
