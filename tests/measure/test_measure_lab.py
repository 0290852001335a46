"""Measuring over real SSH connections: the neighbour's service in the lab, which is left running."""

import signal
import time
from collections.abc import Iterator
from dataclasses import asdict, replace

import pytest
from command_line import CommandLine
from engine_machine import await_that

from fleetops.lab.api import Lab
from fleetops.lab.breakages.base import LOG, BrokenNode, ranks_of, zombies
from fleetops.model.load import STANDARD
from fleetops.model.record import Capacity, LaunchRecord
from fleetops.store.database import Store

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]

NODE = "node-175"
FEW = ("--requests", "16", "--output-tokens", "32")


@pytest.fixture
def neighbour(lab: Lab) -> Iterator[BrokenNode]:
    """The node with a service that was started by hand, whatever the tests before have left, and the same afterwards."""
    node = BrokenNode(lab.folder, NODE)

    def anew() -> None:
        node.clear()
        node.start(["--enable-metrics"])
        node.await_ready()

    anew()
    yield node
    if zombies(node.look()) or not ranks_of(node.look()):
        anew()


def test_a_service_is_measured_over_one_ssh_connection(neighbour: BrokenNode, fleetops: CommandLine) -> None:
    ran = fleetops("measure", NODE, "--json", *FEW)
    assert (ran.status, ran.stderr) == (0, "")
    body = ran.json
    assert (body["engine"], body["version"], body["model"]) == ("sglang", "0.5.9", "/models/small")
    assert (body["completed"], body["errors"]) == (16, [])
    assert 400 < body["output_tokens_per_s"] < 1200
    assert 0.004 < body["itl_s"]["median"] < 0.02
    assert body["others"] == {"running": 0, "waiting": 0}


def test_ctrl_c_ends_it_with_what_was_measured_so_far_and_nothing_left_under_way(
    neighbour: BrokenNode, fleetops: CommandLine
) -> None:
    def answers() -> int:
        return neighbour.run("cat", LOG).count("POST /v1/completions")

    before = answers()
    with fleetops.start("measure", NODE, "--requests", "400") as process:
        await_that(lambda: answers() >= before + 10, answers)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130, stderr
    assert "interrupted: these are the figures so far" in stdout
    assert "tokens/s" in stdout
    assert "of 400" in stdout
    assert "Traceback" not in stderr
    await_that(lambda: running(neighbour) == 0, lambda: running(neighbour))


def running(node: BrokenNode) -> float:
    """Requests that the service has, as its metrics tell."""
    ask = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:30000/metrics').read().decode())"
    lines = node.run("python3", "-c", ask).splitlines()
    return float(next(line for line in lines if line.startswith("sglang:num_running_reqs{")).split()[-1])


def test_a_service_whose_ranks_are_dead_is_not_asked(neighbour: BrokenNode, fleetops: CommandLine) -> None:
    neighbour.run("kill", "-KILL", *(str(each.pid) for each in ranks_of(neighbour.look())))
    neighbour.await_that(lambda: len(zombies(neighbour.look())) == 2, "the ranks did not die")
    ran = fleetops("measure", NODE)
    assert ran.status == 3
    assert "would not answer: some of its processes are dead" in ran.stderr
    assert fleetops.typed("recover", NODE, "--dry-run") in ran.stderr


def test_a_launch_that_measures_records_rates_and_delays_and_compares_no_other_load(
    neighbour: BrokenNode, fleetops: CommandLine, lab: Lab
) -> None:
    neighbour.clear()
    store = Store(lab.folder / "state")
    before = Capacity(tokens_per_s=470.0, **asdict(replace(STANDARD, concurrency=4)))
    store.record_launch(LaunchRecord(node=NODE, profile="small", at=time.time(), run_id="r", capacity=before))
    ran = fleetops("launch", "--profile", "small", NODE, "--yes", "--measure")
    assert ran.status == 0, ran
    launch = store.last_launch(NODE)
    assert launch is not None
    found = launch.capacity
    assert found.load == STANDARD
    assert 400 < found.tokens_per_s < 1200
    assert 0 < found.ttft_s <= found.ttft_p99_s
    assert 0 < found.itl_s <= found.itl_p99_s
    assert "not comparable (concurrency 4)" in ran.stdout
    assert "first token" in ran.stdout
