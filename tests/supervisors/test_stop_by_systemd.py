"""A service under systemd itself: stopped through its unit, down for good, enabled as it was."""

import re
import time

import pytest
from kept_host import COMMAND, FOLDER, KeptHost
from real_systemd import real_systemd

from fleetops.model.command import Command, shell
from fleetops.model.errors import Refused
from fleetops.steps.support.coming_up import stop_again

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
# A user's own manager, as logind would have it.
MANAGER = """
[Service]
User=1000
Environment=XDG_RUNTIME_DIR=/run/user/1000 HOME=/tmp/kept
ExecStart=/lib/systemd/systemd --user
Delegate=yes
KillMode=mixed
"""
USERS = "setpriv --reuid=1000 --regid=1000 --clear-groups env HOME=/tmp/kept XDG_RUNTIME_DIR=/run/user/1000 systemctl --user"


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    with real_systemd(tmp_path_factory.mktemp("systemd")) as running:
        yield KeptHost(running)


@pytest.fixture
def unit(host):
    """The unit, enabled and up; another text makes it another one."""

    def made(text=UNIT, name="sglang.service"):
        host.run(shell(f"cat > /etc/systemd/system/{name}; systemctl daemon-reload", stdin=text))
        host.run(shell(f"systemctl enable --quiet {name}; systemctl start {name}", deadline_s=60))
        return host.await_service()

    yield made
    host.run(
        shell(
            "systemctl stop sglang.service; rm -f /etc/systemd/system/sglang.service; systemctl daemon-reload",
            deadline_s=100,
        )
    )


def shown(host, *names, user=False):
    argv = ("systemctl", "show", f"--property={','.join(names)}", "sglang.service")
    command = shell(f"{USERS} {' '.join(argv[1:])}") if user else Command(argv=argv)
    return dict(line.split("=", 1) for line in host.run(command).stdout.splitlines())


def stays_down(host):
    time.sleep(0.6)  # three times RestartSec
    return host.is_down()


def test_killed_without_its_unit_it_comes_again(host, unit):
    pid = unit()
    host.run(Command(argv=("kill", "-KILL", str(pid))))
    assert host.await_service(other_than=pid) != pid


def test_it_is_stopped_through_its_unit_and_stays_enabled(host, unit):
    unit()
    said = host.stop()
    assert "stopped through unit sglang.service (Restart=always, enabled)" in said
    assert stays_down(host)
    state = shown(host, "ActiveState", "UnitFileState", "Restart")
    # Failed, where systemd has missed that the control group was empty (version 1) and waited for its TimeoutStopSec.
    assert state.pop("ActiveState") in {"inactive", "failed"}
    assert state == {"UnitFileState": "enabled", "Restart": "always"}


def test_ranks_that_ignore_the_units_stop_are_killed_and_do_not_come_again(host, unit):
    unit(UNIT.replace("Environment=", "Environment=STUBBORN=1 "))
    # With control groups of version 1, in a container, systemd may not wait for the ranks, and kills them itself.
    said = host.stop(grace_s=1)
    assert re.match(r"(\d+ ended when asked, 2 by KILL|3 ended when asked); stopped through unit ", said)
    assert stays_down(host)


def test_a_script_that_loops_within_the_unit_goes_with_it(host, unit):
    loop = f"sh -c 'while :; do {' '.join(COMMAND)}; sleep 0.1; done'"
    unit(UNIT.replace(f"ExecStart={' '.join(COMMAND)}", f"ExecStart={loop}"))
    assert "unit sglang.service" in host.stop()
    assert stays_down(host)


MANAGER_OF_TWO = f"""
import subprocess
subprocess.Popen(["/usr/bin/python3", "-m", "http.server", "8099"])
subprocess.call({list(COMMAND)!r})
"""


def test_a_unit_with_something_else_in_it_is_named_and_nothing_is_stopped(host, unit):
    host.run(shell("cat > /opt/engine/manager.py", stdin=MANAGER_OF_TWO))
    pid = unit(UNIT.replace(" ".join(COMMAND), "/usr/bin/python3 /opt/engine/manager.py"))
    with pytest.raises(Refused, match=r"it runs other things as well: .*http\.server") as refused:
        host.stop()
    assert refused.value.guard == "supervisor"
    assert host.await_service() == pid


def test_a_unit_of_a_users_own_manager_is_stopped_by_that_user(host):
    host.run(
        shell(
            "mkdir -p /run/user/1000 /tmp/kept/.config/systemd/user; cat > /etc/systemd/system/user@1000.service",
            stdin=MANAGER,
        )
    )
    host.run(
        shell(
            "cat > /tmp/kept/.config/systemd/user/sglang.service", stdin=UNIT.replace("/var/log", "/tmp/kept")
        )
    )
    host.run(
        shell(
            "chown -R 1000:1000 /run/user/1000 /tmp/kept; grep -q ':1000:1000:' /etc/passwd || echo 'kept:x:1000:1000::/tmp/kept:/bin/sh' >> /etc/passwd"
        )
    )
    host.run(shell("systemctl daemon-reload; systemctl start user@1000.service", deadline_s=20))
    ready = f"for _ in $(seq 100); do {USERS} list-units > /dev/null 2>&1 && exit; sleep 0.1; done; exit 1"
    host.run(shell(ready, deadline_s=30))
    host.run(shell(f"{USERS} enable --quiet --now sglang.service", deadline_s=20))
    host.await_service()
    assert "unit sglang.service of uid 1000 (Restart=always, enabled)" in host.stop()
    assert stays_down(host)
    state = shown(host, "ActiveState", "UnitFileState", user=True)
    assert state.pop("ActiveState") in {"inactive", "failed"}
    assert state == {"UnitFileState": "enabled"}


def test_a_unit_that_waits_to_start_a_service_that_has_died_is_stopped_too(host):
    crashing = UNIT.replace("Environment=", "ExecStartPre=/usr/bin/false\nEnvironment=").replace(
        "0.2", "1000"
    )
    host.run(shell("cat > /etc/systemd/system/sglang.service; systemctl daemon-reload", stdin=crashing))
    host.run(shell("systemctl start --no-block sglang.service"))
    deadline = time.monotonic() + 10
    while shown(host, "SubState")["SubState"] != "auto-restart":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert "which waits to start it" in host.stop()
    assert shown(host, "ActiveState")["ActiveState"] in {"inactive", "failed"}
    host.run(shell("rm /etc/systemd/system/sglang.service; systemctl daemon-reload"))


# The server cannot start, and the loop waits long for its next try.
LOOP = f"""
while :; do
    PYTHONPATH=/nowhere {COMMAND[0]} {COMMAND[1]} \\
        {" ".join(COMMAND[2:])} 2> /dev/null
    sleep 1000
done
"""


@pytest.mark.parametrize("shell_name", ["sh", "bash"])
def test_a_loop_that_sleeps_between_two_runs_is_found_by_its_script_and_ended(host, shell_name):
    host.run(shell("cat > /opt/engine/serve.sh", stdin=LOOP))
    started = f"setsid {shell_name} /opt/engine/serve.sh > /dev/null 2>&1 < /dev/null &"
    host.run(shell(started))
    deadline = time.monotonic() + 10
    while "sleep 1000" not in host.run(shell("ps -eo args")).stdout:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert f"the shell {shell_name} /opt/engine/serve.sh" in host.stop()
    assert "serve.sh" not in host.run(shell("ps -eo args")).stdout
    host.run(shell("kill $(pidof sleep)"))


def test_what_the_node_starts_by_itself_when_it_comes_up_again_is_stopped_again(host, unit):
    unit()
    host.stop()
    host.run(
        shell("(sleep 0.5; systemctl start sglang.service) > /dev/null 2>&1 &")
    )  # as at a boot, a little later
    assert "stopped through unit sglang.service" in stop_again(host)
    assert stays_down(host)
