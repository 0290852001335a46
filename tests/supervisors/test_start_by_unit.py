"""A relaunch by the operator's own unit, under systemd itself: only where it starts the very profile, and held back meanwhile."""

import json
import time

import pytest
from kept_host import COMMAND, FOLDER, PROFILE, KeptHost
from real_systemd import real_systemd

from fleetops.model.command import Command, shell
from fleetops.model.errors import Refused
from fleetops.steps.preflight import STEP as PREFLIGHT
from fleetops.steps.start_service import STEP as START
from fleetops.steps.support.contending import keeper
from fleetops.steps.support.memory_guard.watching import keep_guardian
from fleetops.steps.support.unit_start import hold, let_go, start_unit

UNIT = f"""
[Service]
ExecStart={" ".join(COMMAND)}
Environment=PYTHONPATH={FOLDER}
Restart=always
RestartSec=0.2
TimeoutStopSec=3
StandardOutput=append:/var/log/sglang.log
[Install]
WantedBy=default.target
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    with real_systemd(tmp_path_factory.mktemp("systemd")) as running:
        yield KeptHost(running)


@pytest.fixture
def unit(host):
    """An enabled unit that is down, as a recovery leaves it."""

    def made(text=UNIT):
        host.run(shell("cat > /etc/systemd/system/sglang.service; systemctl daemon-reload", stdin=text))
        host.run(shell("systemctl enable --quiet sglang.service; rm -rf /run/fleetops /var/log/fleetops"))
        return host.begin()

    yield made
    stopped = (
        "systemctl stop sglang.service; rm -rf /etc/systemd/system/sglang.service*; systemctl daemon-reload"
    )
    host.run(shell(stopped, deadline_s=100))


def shown(host, name):
    asked = ("systemctl", "show", f"--property={name}", "--value", "sglang.service")
    return host.run(Command(argv=asked)).stdout.strip()


def preflight(host):
    return PREFLIGHT.plan(host.situation, PREFLIGHT.settle({}))


def start(host):
    situation = host.situation
    by = keeper(situation, PROFILE)
    hold(host, by)
    return host.session_.run(start_unit(situation, PROFILE, by))


def test_a_unit_that_starts_the_very_profile_starts_it(host, unit):
    unit()
    assert preflight(host).blocked == ""
    host.run(shell("echo 'The server is fired up, long ago' > /var/log/sglang.log"))
    started = start(host)
    assert started.ok, started
    pid, _, name = started.stdout.split()
    assert name == "sglang.service"
    assert shown(host, "MainPID") == pid == str(host.await_service())
    record = json.loads(host.run(Command(argv=("cat", "/run/fleetops/services/small.json"))).stdout)
    deadline = time.monotonic() + 10
    while "started with" not in (log := host.run(Command(argv=("cat", record["log"]))).stdout):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert "long ago" not in log
    host.stop()


def test_until_the_launch_has_ended_it_is_not_restarted_and_then_as_before(host, unit):
    unit()
    pid = start(host).stdout.split()[0]
    assert shown(host, "Restart") == "no"
    host.run(Command(argv=("kill", "-KILL", pid)))
    time.sleep(0.6)  # three times RestartSec
    assert host.is_down()
    let_go(host)
    assert shown(host, "Restart") == "always"
    assert host.run(shell("ls /run/systemd/system")).stdout.strip() == ""
    assert shown(host, "UnitFileState") == "enabled"


def test_what_cannot_be_started_leaves_nothing_held(host, unit):
    unit(UNIT.replace("StandardOutput=append:/var/log/sglang.log", "StandardOutput=null"))
    refused = start(host)
    assert "writes its log to null, which cannot be followed" in refused.said
    unit(UNIT.replace("Environment=", "ExecStartPre=/usr/bin/false\nEnvironment="))
    failed = start(host)
    assert "it ended at once (exit-code)" in failed.said
    assert shown(host, "Restart") == "always"
    assert host.is_down()


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "--hicache-size 48",
            "--hicache-size 300",
            "--hicache-size 300 where the profile has --hicache-size 48",
        ),
        ("--tp 2", "--tp 1", "--tp 1 where the profile has --tp 2"),
        ("-m sglang", "-u -m sglang", "it runs `python3 -u -m sglang.launch_server`"),
        ("Restart=always", "Restart=always\nWorkingDirectory=/opt", "it runs in /opt"),
        ("Restart=always", "Restart=always\nUser=nobody", "it runs as nobody"),
        ("PYTHONPATH=", "A=1 PYTHONPATH=", "its environment is another"),
    ],
)
def test_a_unit_that_would_start_something_else_stays_down_and_is_named(host, unit, old, new, why):
    unit(UNIT.replace(old, new))
    told = preflight(host)
    assert told.guard == "supervisor"
    assert why in told.blocked
    assert told.mend.startswith("edit /etc/systemd/system/sglang.service or the profile")


def test_beside_a_unit_that_waits_to_start_its_service_again_nothing_is_started(host, unit):
    unit(UNIT.replace("Environment=", "ExecStartPre=/usr/bin/false\nEnvironment=").replace("0.2", "1000"))
    host.run(shell("systemctl start --no-block sglang.service"))
    deadline = time.monotonic() + 10
    while shown(host, "SubState") != "auto-restart":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    host.begin()
    told = preflight(host)
    assert told.guard == "supervisor"
    assert "is up (auto-restart): it would start a second service on port 30000" in told.blocked


def test_a_unit_that_is_down_and_that_nobody_enabled_is_nobodys_business(host, unit):
    unit()
    host.run(shell("systemctl disable --quiet sglang.service"))
    host.begin()
    assert preflight(host).blocked == ""
    assert keeper(host.situation, PROFILE) is None


def test_the_step_starts_it_by_the_unit_and_nothing_by_one_that_says_otherwise(host, unit):
    unit()
    keep_guardian(host, "2 x 48 GB")
    said = START.run(host, START.settle({}))
    started = host.memo["started"]
    assert said.startswith(f"pid {started.pid}, unit sglang.service, log /var/log/fleetops/small-r1.log")
    assert started.pid == host.await_service()
    let_go(host)
    host.stop()
    unit(UNIT.replace("--hicache-size 48", "--hicache-size 300"))
    with pytest.raises(Refused, match="--hicache-size 300 where the profile has"):
        START.run(host, START.settle({}))
    assert host.is_down()
