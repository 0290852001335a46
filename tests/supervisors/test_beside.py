"""Nothing is started beside what starts the same port; as the facts of a whole node would tell of it."""

from dataclasses import replace

import pytest
from node_scenes import NODE, launcher, missing, observe, profile
from supervisor_scenes import SERVICE, container, keepers, loop, unit

from fleetops.checks import judge
from fleetops.engines import engine
from fleetops.model.fleet import Inventory
from fleetops.model.supervisor import SUPERVISORS
from fleetops.steps.preflight import STEP as PREFLIGHT
from fleetops.steps.prove import STEP as PROVE
from fleetops.steps.support.base import Situation
from fleetops.steps.support.contending import keeper

PROFILE = profile()
COMMAND = engine("sglang").argv(PROFILE, {})
DOWN = {"active": "inactive", "sub": "dead", "main_pid": 0, "pids": ()}


def situation(*processes, ends=False, profile=PROFILE, facts=None, **supervisors):
    observation = observe(*processes, profile=profile, facts=facts or keepers(**supervisors))
    return Situation(
        inventory=Inventory(path=".", nodes={"node-174": NODE}),
        observation=observation,
        findings=judge(observation),
        before=observation,
        run_id="run",
        service_ends_before=ends,
    )


def preflight(now):
    return PREFLIGHT.plan(now, PREFLIGHT.settle({}))


def test_beside_a_unit_that_is_up_nothing_is_started():
    told = preflight(situation(*SERVICE, units=(unit(command=COMMAND),)))
    assert told.guard == "supervisor"
    assert told.blocked == (
        "unit sglang.service (Restart=always, enabled) on node-174 is up (running): it would start a second service"
        " on port 30000"
    )
    assert "fleetops recover node-174" in told.mend


def test_a_run_that_stops_it_first_goes_by_what_it_would_start():
    same = situation(*SERVICE, ends=True, units=(unit(command=COMMAND),))
    assert preflight(same).blocked == ""
    assert keeper(same, PROFILE).name == "sglang.service"
    wedging = tuple("300" if word == "48" else word for word in COMMAND)
    told = preflight(situation(*SERVICE, ends=True, units=(unit(command=wedging),)))
    assert "--hicache-size 300 where the profile has --hicache-size 48; it is left stopped" in told.blocked
    assert told.mend.startswith("edit /etc/systemd/system/sglang.service")


def test_a_unit_that_only_a_person_starts_is_the_services_where_it_kept_it_when_the_run_began():
    crashing = unit(
        command=COMMAND, enabled="static", active="activating", sub="auto-restart", main_pid=0, pids=()
    )
    assert "is up (auto-restart)" in preflight(situation(units=(crashing,))).blocked
    ended = situation(ends=True, units=(crashing,))
    gone = replace(ended, service_ends_before=False, observation=observe(facts=keepers()))
    for now in (ended, gone):
        assert preflight(now).blocked == ""
        assert keeper(now, PROFILE).name == "sglang.service"


def test_an_enabled_unit_that_is_down_is_seen_through_the_shell_that_starts_the_server():
    wrapped = ("/bin/bash", "-c", "exec", *COMMAND)
    told = preflight(situation(units=(unit(command=wrapped, **DOWN),)))
    assert (
        "it runs `bash -c exec python3 -m sglang.launch_server`, not `python3 -m sglang.launch_server`"
        in told.blocked
    )


@pytest.mark.parametrize(
    "other",
    [
        unit(command=tuple("30001" if word == "30000" else word for word in COMMAND), **DOWN),
        unit(command=("/usr/bin/python3", "/root/serve.py", "--port", "30000"), **DOWN),
        unit(command=COMMAND, enabled="disabled", **DOWN),
        unit(name="fleetops-hicache48-r.service", command=COMMAND, **DOWN),
    ],
    ids=["another port", "no engine", "disabled and down", "of a launch"],
)
def test_what_would_not_start_a_second_one_is_let_be(other):
    now = situation(units=(other,))
    assert preflight(now).blocked == ""
    assert keeper(now, PROFILE) is None


def test_a_container_that_its_runtime_starts_again_is_in_the_way_and_an_old_one_is_not():
    stopped = container(command=COMMAND, pid=0, pids=(), status="exited")
    told = preflight(situation(containers=(stopped,)))
    assert "fleetops does not launch into a container yet" in told.blocked
    assert told.mend.startswith("docker start sglang brings it back as it was")
    assert preflight(situation(containers=(replace(stopped, restart="no"),))).blocked == ""


def test_a_container_that_went_with_its_end_is_still_the_services():
    now = situation(*SERVICE, ends=True, containers=(container(removes=True, restart="no"),))
    assert "started with --rm" in preflight(now).mend


@pytest.mark.parametrize("step", [PROVE, PREFLIGHT], ids=["prove", "preflight"])
def test_a_profile_that_is_started_by_a_containers_client_is_refused_plainly_before_anything_else(step):
    docker = profile(command=("docker", "run", "--gpus", "all", "lmsysorg/sglang", "python3"))
    now = replace(situation(profile=docker), proofs={"hicache_size": None})
    told = step.plan(now, step.settle({}))
    assert told.guard == "supervisor"
    assert (
        "profile hicache48 is started by docker, and fleetops does not launch into a container yet"
        in told.blocked
    )


def test_a_loop_that_waits_to_start_it_again_is_in_the_way():
    told = preflight(situation(loop(), scripts=((2000, " ".join(COMMAND)),)))
    assert "the shell sh /root/serve.sh (pid 2000) on node-174 is up: it would start a second" in told.blocked


def test_what_cannot_be_read_refuses_a_start():
    told = preflight(situation(facts={SUPERVISORS: missing()}))
    assert told.guard == "supervisor"
    assert "could not be read" in told.blocked


def test_without_any_of_it_the_way_is_free():
    assert preflight(situation()).blocked == ""
    assert keeper(situation(launcher()), PROFILE) is None
