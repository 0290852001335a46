"""`fleetops sweep --textfile` and `--serve`, the program itself, over a fleet that does not answer."""

import io
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from fleetops.cli.program import run
from fleetops.cli.world import World
from fleetops.model.exit import Exit

RUN = "from fleetops.cli.main import entry; entry()"


class Desk:
    """A folder with an inventory of one node on a port where nobody listens."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        (folder / "inventory").mkdir()
        text = f"nodes:\n  node-174: {{address: 127.0.0.1, port: {port}}}\n"
        (folder / "inventory/fleet.yaml").write_text(text)
        self.environ = {
            "HOME": str(folder),
            "PATH": os.environ["PATH"],
            "FLEETOPS_STATE": str(folder / "state"),
            "FLEETOPS_CACHE": str(folder / "cache"),
        }

    def call(self, *argv):
        stdout, stderr = io.StringIO(), io.StringIO()
        world = World(
            stdin=io.StringIO(), stdout=stdout, stderr=stderr, environ=self.environ, cwd=self.folder
        )
        return run(list(argv), world), stdout.getvalue(), stderr.getvalue()

    def start(self, *argv):
        environ = {**self.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.Popen(
            [sys.executable, "-c", RUN, *argv],
            cwd=self.folder,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture
def desk(tmp_path):
    with socket.socket() as taken:  # bound, so that nobody else can take it, and not listening
        taken.bind(("127.0.0.1", 0))
        yield Desk(tmp_path, taken.getsockname()[1])


def values(text):
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(one.name, one.labels.get("host"), one.labels.get("state")): one.value for one in samples}


def test_one_sweep_into_a_file(desk):
    code, shown, told = desk.call("sweep", "--textfile", "fleetops.prom")
    assert (code, told) == (Exit.UNKNOWN, "")
    assert "1 unknown" in shown
    found = values((desk.folder / "fleetops.prom").read_text())
    assert found["fleetops_host_up", "node-174", None] == 0
    assert found["fleetops_findings", "node-174", "unconfirmed"] == 1
    assert ("fleetops_sweep_interval_seconds", None, None) not in found


def test_a_file_that_cannot_be_written_is_a_failed_step_and_the_sweep_is_shown(desk, monkeypatch):
    def refused(**_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fleetops.store.whole.tempfile.mkstemp", refused)
    code, shown, told = desk.call("sweep", "--textfile", "fleetops.prom")
    assert code is Exit.FAILED
    assert "1 unknown" in shown
    assert "No space left on device" in told


def test_no_host_is_asked_where_the_file_never_can_be(desk):
    code, shown, told = desk.call("sweep", "--textfile", "nowhere/fleetops.prom")
    assert (code, shown) == (Exit.USAGE, "")
    assert "there is no folder" in told


def test_an_exporter_has_to_know_how_often(desk):
    code, shown, told = desk.call("sweep", "--serve", ":9874")
    assert (code, shown) == (Exit.USAGE, "")
    assert "--every 5m" in told


def test_an_address_that_is_none(desk):
    code, _, told = desk.call("sweep", "--every", "1s", "--serve", "9874")
    assert code is Exit.USAGE
    assert "'9874' is no address like `:9874`" in told


def test_no_host_is_asked_where_the_port_is_taken(desk):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, shown, told = desk.call("sweep", "--every", "1s", "--serve", f":{port}")
    assert (code, shown) == (Exit.FAILED, "")
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in told


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_many_sweeps_served_and_written_until_somebody_ends_it(desk, ending):
    with desk.start("sweep", "--every", "1s", "--serve", ":0", "--textfile", "fleetops.prom") as process:
        try:
            url = re.search(r"http://127\.0\.0\.1:\d+/metrics", process.stderr.readline())[0]
            # Each line is a sweep that has been handed on: the third is shown when both know of it.
            lines = iter(process.stdout.readline, "")
            headlines = (line for line in lines if "1 host in" in line)
            for _ in range(3):
                next(headlines)
            with urllib.request.urlopen(url, timeout=10) as answer:
                served = values(answer.read().decode())
            written = values((desk.folder / "fleetops.prom").read_text())
            process.send_signal(ending)
            _, told = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == Exit.INTERRUPTED
    assert "Traceback" not in told
    assert served["fleetops_findings", "node-174", "firm"] == 1
    assert served["fleetops_sweep_interval_seconds", None, None] == 1
    assert 0 <= served["fleetops_sweep_age_seconds", None, None] < 30
    assert written["fleetops_findings", "node-174", "firm"] == 1
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(url, timeout=10)


@pytest.mark.parametrize("what", ["rules", "dashboard"])
def test_rules_and_dashboard_are_printed(desk, what):
    code, shown, told = desk.call("monitoring", what)
    assert (code, told) == (Exit.FINE, "")
    assert "fleetops_findings" in shown
    code, as_json, _ = desk.call("monitoring", what, "--json")
    assert code is Exit.FINE
    assert '"schema": "fleetops.monitoring/1"' in as_json
