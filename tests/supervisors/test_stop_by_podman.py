"""A service in a container of Podman itself: stopped by its container, whose restart policy stays what it was."""

import json
import time

import pytest
from kept_host import ARGUMENTS, FOLDER, KeptHost
from real_podman import BOUND, real_podman

from fleetops.model.command import Command
from fleetops.model.engine import ENGINE_SOURCE
from fleetops.source.transport import read_digest
from fleetops.steps.preflight import STEP as PREFLIGHT


@pytest.fixture(scope="module")
def host():
    with real_podman() as running:
        yield KeptHost(running)


@pytest.fixture
def started(host):
    """Run the engine in a container with that policy, its package where only the container has it."""

    def run(*options, policy="always"):
        bound = (*BOUND, "-v", f"{FOLDER}:/srv/engine:ro", "-e", "PYTHONPATH=/srv/engine")
        server = ("/usr/bin/python3", "-m", "sglang.launch_server", *ARGUMENTS)
        argv = (
            "podman",
            "run",
            "--detach",
            "--name",
            "sglang",
            f"--restart={policy}",
            *options,
            *bound,
            "lab/bare:1",
            *server,
        )
        host.run(Command(argv=argv, deadline_s=30))
        return host.await_service()

    yield run
    host.run(Command(argv=("podman", "rm", "--force", "--time", "0", "--ignore", "sglang"), deadline_s=30))


def state(host):
    told = json.loads(host.run(Command(argv=("podman", "inspect", "sglang"))).stdout)[0]
    return told["State"]["Status"], told["HostConfig"]["RestartPolicy"]["Name"]


def test_killed_without_its_container_it_comes_again(host, started):
    pid = started()
    host.run(Command(argv=("kill", "-KILL", str(pid))))
    assert host.await_service(other_than=pid) != pid


def test_it_is_stopped_by_its_container_and_stays_down(host, started):
    started()
    assert "stopped through container sglang (podman, restart always)" in host.stop(grace_s=1)
    time.sleep(0.5)
    assert host.is_down()
    assert state(host) == ("exited", "always")


def test_its_source_is_read_through_the_containers_own_root(host, started):
    started(policy="no")
    seen = host.observe()
    found = seen.node_facts.value(ENGINE_SOURCE)
    inside = {one.pid for service in seen.services for one in service.processes}
    assert found.folder in {f"/proc/{pid}/root/srv/engine/sglang" for pid in inside}
    assert found.version == "0.5.9"
    assert read_digest(host.session_.run, found.folder) == read_digest(host.session_.run, f"{FOLDER}/sglang")


def test_nothing_is_started_beside_it_nor_into_it(host, started):
    started()
    host.begin()
    told = PREFLIGHT.plan(host.situation, PREFLIGHT.settle({}))
    assert told.guard == "supervisor"
    assert "container sglang (podman, restart always) on node-174 is up" in told.blocked
    host.stop(grace_s=1)
    told = PREFLIGHT.plan(host.look(), PREFLIGHT.settle({}))
    assert "fleetops does not launch into a container yet" in told.blocked
    assert told.mend.startswith("podman start sglang brings it back")
