"""`fleetops report`, from what sweeps, launches and runs left in a real state folder."""

import io
import json
import os
import stat

import pytest

from fleetops.cli.program import run
from fleetops.cli.world import World
from fleetops.model.finding import Finding, Severity
from fleetops.model.past import Remembered
from fleetops.model.record import Capacity, LaunchRecord
from fleetops.model.sweep import HostSweep, Sweep, Tracked
from fleetops.playbook.journal import Journal
from fleetops.store.database import Store
from fleetops.store.sweeps import SweepStore

NOW = 1_795_964_400.0
DAY = 86_400.0
INVENTORY = """\
nodes:
  node-174: {address: 127.0.0.1, port: 9, gpus: 8}
  node-175: {address: 127.0.0.1, port: 10}
profiles:
  hicache48:
    engine: sglang
    model: /models/example
    ranks: 8
    port: 30000
    environment: {HF_TOKEN: hf_verysecretvalue}
"""


@pytest.fixture
def desk(tmp_path):
    (tmp_path / "inventory").mkdir()
    (tmp_path / "inventory" / "fleet.yaml").write_text(INVENTORY)
    (tmp_path / "state").mkdir(mode=0o700)
    return tmp_path


def call(desk, *words):
    stdout, stderr = io.StringIO(), io.StringIO()
    world = World(
        stdin=io.StringIO(),
        stdout=stdout,
        stderr=stderr,
        environ={"HOME": str(desk), "FLEETOPS_STATE": str(desk / "state")},
        clock=lambda: NOW,
        cwd=desk,
    )
    return run(("report", *words), world), stdout.getvalue(), stderr.getvalue()


def remember(desk):
    store, state = SweepStore(desk / "state"), desk / "state"
    finding = Finding(
        host="node-174",
        check="ranks",
        severity=Severity.CRITICAL,
        subject="ranks dead",
        evidence="8 of 8 defunct",
        next="fleetops recover node-174 --dry-run",
    )
    for at in (NOW - 9 * DAY, NOW - 600, NOW - 300):
        hosts = tuple(
            HostSweep(
                name=name,
                kind="node",
                at=at,
                seconds=1,
                findings=(finding,) if name == "node-174" else (),
                remembered=Remembered(numbers={"mem-available-bytes": 9.6e9, "swap-used-bytes": 0}),
            )
            for name in ("node-174", "node-175")
        )
        tracked = Tracked(
            finding=finding, first_seen=NOW - 600, last_seen=at, sightings="11", count=2, firm=True
        )
        store.record(Sweep(at=at, seconds=1.5, hosts=hosts), [tracked])
    for at, profile in ((NOW - 8 * DAY, "hicache40"), (NOW - DAY, "hicache48")):
        Store(state).record_launch(
            LaunchRecord(
                node="node-174", profile=profile, at=at, run_id=f"run-{profile}", capacity=Capacity()
            )
        )
    journal = Journal(state, "20261129-1450-node-175")
    journal.write("begin", NOW - 500, playbook="recover", node="node-175", by={})
    journal.write("end", NOW - 400, status="failed", why="the log says hf_verysecretvalue")
    journal.close()


def test_what_is_remembered_is_on_the_page_and_nothing_older(desk):
    remember(desk)
    code, stdout, stderr = call(desk, "--html", "fleet.html")
    assert (code, stderr) == (0, "")
    assert stdout.replace("\n", "").startswith(f"{desk}/fleet.html: 2 hosts, ")
    page = (desk / "fleet.html").read_text()
    assert "ranks dead" in page
    assert "launch hicache48" in page
    assert "launch hicache40" not in page
    assert "fleetops recover node-174 --dry-run" in page
    assert "failed after 1 min 40 s" in page
    assert "well in 0 of 2 sweeps" in page
    assert "hf_verysecretvalue" not in page


def test_how_far_back_is_the_operators_choice(desk):
    remember(desk)
    call(desk, "--html", "fleet.html", "--since", "30d")
    page = (desk / "fleet.html").read_text()
    assert "launch hicache40" in page
    assert "well in 0 of 3 sweeps" in page


def test_only_the_hosts_that_were_named(desk):
    remember(desk)
    call(desk, "node-175", "--html", "fleet.html")
    page = (desk / "fleet.html").read_text()
    assert "node-174" not in page
    assert "1 host<" in page


def test_a_program_is_told_where_it_is(desk):
    code, stdout, _ = call(desk, "--json", "--html", "fleet.html")
    body = json.loads(stdout)
    assert code == 0
    assert (body["schema"], body["file"], body["hosts"]) == ("fleetops.report/1", f"{desk}/fleet.html", 2)
    assert body["size_bytes"] == (desk / "fleet.html").stat().st_size


def test_before_the_first_sweep_it_says_what_to_type(desk):
    code, _, stderr = call(desk, "--html", "fleet.html")
    assert code == 0
    assert "fleetops sweep" in stderr
    assert "not swept" in (desk / "fleet.html").read_text()


def test_the_page_is_private_unless_the_file_that_is_there_is_not(desk):
    old = os.umask(0)
    try:
        call(desk, "--html", "new.html")
        (desk / "there.html").write_text("old")
        (desk / "there.html").chmod(0o644)
        call(desk, "--html", "there.html")
    finally:
        os.umask(old)
    assert stat.S_IMODE((desk / "new.html").stat().st_mode) == 0o600
    assert stat.S_IMODE((desk / "there.html").stat().st_mode) == 0o644
    assert sorted(path.name for path in desk.glob("*.html")) == ["new.html", "there.html"]


def test_a_link_stays_a_link(desk):
    (desk / "www").mkdir()
    (desk / "link.html").symlink_to(desk / "www" / "fleet.html")
    assert call(desk, "--html", "link.html")[0] == 0
    assert (desk / "link.html").is_symlink()
    assert (desk / "www" / "fleet.html").is_file()


@pytest.mark.parametrize("target", ["no/such/folder/fleet.html", "inventory"])
def test_where_it_cannot_be_written_that_is_said_and_nothing_is_left(desk, target):
    before = sorted(desk.rglob("*"))
    code, stdout, stderr = call(desk, "--html", target)
    assert (code, stdout) == (4, "")
    assert f"cannot write {desk}/{target}" in stderr.replace("\n", "")
    assert sorted(desk.rglob("*")) == before


def test_without_a_file_it_is_a_usage_error(desk):
    assert call(desk)[0] == 2
