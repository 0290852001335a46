"""vLLM on a lab node: launched, measured, and recovered from what only it does: orphans, and health that proves nothing."""

import json
import time

import pytest

from fleetops.engines.condition import Condition, condition
from fleetops.lab.breakages.base import BrokenNode

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]

NODE, PORT = "node-190", 8000
PROFILE = ("--profile", "vllm-small")


@pytest.fixture
def serving(fleet):
    """node-190 with the profile's service on it: as the test before left it where it is whole, else serving anew."""
    services = fleet.look(NODE).services
    if [condition(service) for service in services] != [Condition.WHOLE]:
        launch(fleet)
    return fleet


def launch(fleet):
    BrokenNode(fleet.lab.folder, NODE).clear()
    ran = fleet.fleetops("launch", *PROFILE, NODE, "--yes", "--json")
    assert ran.status == 0, ran
    return ran.json["launched"]


def the_service(fleet):
    [service] = fleet.look(NODE).services
    return service


def age_s(fleet):
    observation = fleet.look(NODE)
    [service] = observation.services
    return service.launcher.age_s(observation.node_facts.readings["identity"])


def signal(fleet, name, *processes):
    fleet.run(NODE, "kill", f"-{name}", *(str(process.pid) for process in processes))


def completion(fleet, **more):
    body = {"model": "/models/small", "prompt": "hello there", "max_tokens": 5, "ignore_eos": True, **more}
    session = fleet.connections.session(fleet.inventory.nodes[NODE])
    answer = session.request(PORT, "POST", "/v1/completions", json.dumps(body).encode(), deadline_s=20)
    return answer.status, json.loads(answer.body)


def health(fleet):
    session = fleet.connections.session(fleet.inventory.nodes[NODE])
    return session.request(PORT, "GET", "/health", deadline_s=10).status


def test_a_launch_proves_sizes_and_records_by_vllms_own_measure(fleet):
    capacity = launch(fleet)["capacity"]
    service = the_service(fleet)
    assert (service.engine, service.port, len(service.ranks)) == ("vllm", PORT, 2)
    assert [process.comm for process in service.others] == ["VLLM::EngineCor"]
    assert capacity["device_tokens"] == 1_185_280, "the whole server's, from its metric"
    assert capacity["host_asked_bytes"] == 40 * 2**30, "a total is not multiplied by ranks"
    assert 42e9 < capacity["host_taken_bytes"] < 50e9
    assert capacity["tokens_per_s"] > 0


def test_its_endpoints_answer_in_the_recorded_forms(serving):
    status, answer = completion(serving)
    assert (status, answer["usage"]["completion_tokens"]) == (200, 5)
    status, answer = completion(serving, model="nope")
    assert (status, answer["error"]["type"]) == (404, "NotFoundError")
    ran = serving.fleetops("measure", NODE, "--requests", "4", "--output-tokens", "16", "--json")
    assert ran.status == 0, ran
    assert (ran.json["engine"], ran.json["completed"], ran.json["errors"]) == ("vllm", 4, [])


def test_a_service_that_serves_needs_nothing(serving):
    before = serving.process_table(NODE)
    ran = serving.fleetops("recover", *PROFILE, NODE, "--yes")
    assert ran.status == 0, ran
    assert "is serving on port 8000" in ran.stdout + ran.stderr
    assert serving.process_table(NODE) == before


def test_the_orphans_of_a_killed_server_are_ended_and_it_is_relaunched(serving):
    first = the_service(serving)
    signal(serving, "KILL", first.launcher)
    left = the_service(serving)
    assert left.launcher is None
    assert {process.pid for process in left.processes} == {process.pid for process in first.processes[1:]}
    assert {process.pgid for process in left.processes} == {first.launcher.pid}
    ran = serving.fleetops("recover", *PROFILE, NODE, "--yes", "--json")
    assert ran.status == 0, ran
    assert all(row["ok"] for row in ran.json["reclaimed"])
    assert not any("nvidia-smi" in argv for _, *argv in serving.changes(ran.json)), "rungs 1 and 2 suffice"
    again = the_service(serving)
    assert again.launcher.pid != first.launcher.pid
    assert not {process.pid for process in left.processes} & set(serving.process_table(NODE))


@pytest.mark.long  # what is silent is given its time, more than once
def test_a_stopped_worker_leaves_health_at_200_and_recover_is_not_deceived(serving):
    first = the_service(serving)
    signal(serving, "STOP", first.ranks[1].process)
    assert health(serving) == 200
    # Within its ready-deadline a silent service may still be coming up.
    while age_s(serving) < 12:
        time.sleep(0.5)
    profiles = serving.lab.inventory / "profiles.yaml"
    text = profiles.read_text()
    profiles.write_text(text.replace("ready-deadline: 90s", "ready-deadline: 12s"))
    try:
        ran = serving.fleetops("recover", *PROFILE, NODE, "--yes", "--json")
    finally:
        profiles.write_text(text)
    assert ran.status == 0, ran
    assert the_service(serving).launcher.pid != first.launcher.pid
    assert completion(serving)[0] == 200


@pytest.mark.long
def test_a_worker_that_dies_ends_the_server_with_the_cause_in_its_log(serving):
    signal(serving, "KILL", the_service(serving).ranks[0].process)
    log = serving.run(NODE, "sh", "-c", "sleep 1; cat /var/log/fleetops/vllm-small-*.log")
    assert "Worker proc VllmWorker-0 died unexpectedly" in log
    assert serving.look(NODE).services == ()
    ran = serving.fleetops("recover", *PROFILE, NODE, "--yes")
    assert ran.status == 0, ran
    assert len(the_service(serving).ranks) == 2


def test_sizes_are_proven_from_the_source_that_lies_there(fleet):
    BrokenNode(fleet.lab.folder, NODE).clear()
    ran = fleet.fleetops("size", *PROFILE, "--set", "kv_offloading_size=300", NODE, "--json")
    assert (ran.status, ran.json["verdict"], ran.json["fits"]) == (5, "does-not-fit", 223)
    assert ran.json["scope"] == "total"
    ran = fleet.fleetops("size", *PROFILE, "--set", "cpu_offload_gb=10", NODE, "--json")
    assert {"label": "cpu_offload_gb: 2 x 10 GiB", "bytes": 20 * 2**30} in ran.json["lines"]
