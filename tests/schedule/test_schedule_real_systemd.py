"""`fleetops schedule` under systemd itself: the timer fires, the whole of fleetops sweeps within its hardening, and is gone.

Its hosts are on a loopback that is down: each sweep says unknown, exit code 3, which is no failure of the unit.
"""

import json
import sys
import time
from pathlib import Path

import pytest
from real_systemd import real_systemd

from fleetops.fleet.scheduling.made import schedule_name
from fleetops.model.command import shell

ROOT = Path(__file__).resolve().parents[2]
FLEET = "/srv/my fleet's 100% $HOME"
INVENTORY = "nodes: {n1: {address: 127.0.0.1, port: 1, user: root}}\n"
# A user's own manager, as logind would have it.
MANAGER = """
[Service]
User=1000
Environment=XDG_RUNTIME_DIR=/run/user/1000 HOME=/home/ada
ExecStart=/lib/systemd/systemd --user
Delegate=yes
KillMode=mixed
"""
AS_ADA = "setpriv --reuid=1000 --regid=1000 --clear-groups"
PATIENCE_S = 100.0


class Host:
    """systemd's machine, and fleetops on it, as root or as a user with uid 1000."""

    def __init__(self, running, home, become="", manager="systemctl"):
        self.running, self.home, self.become, self.manager = running, home, become, manager
        self.service = f"{schedule_name(Path(FLEET))}.service"

    def sh(self, script, *words, stdin=""):
        return self.running.run(shell(script, *words, stdin=stdin, deadline_s=150))

    def fleetops(self, action, *words):
        environ = f"env -i HOME={self.home} PATH=/usr/bin:/bin PYTHONPATH='{ROOT}' {self.become}"
        call = f'exec {environ} "{sys.executable}" -P -m fleetops "$@"'
        return self.sh(call, "schedule", action, "--inventory", FLEET, *words)

    def status(self):
        return json.loads(self.fleetops("status", "--json").stdout)

    def shown(self, name):
        """A property of the service."""
        return self.sh(f"{self.manager} show --property={name} --value {self.service}").stdout.strip()

    def await_end(self, after=0):
        """Once a run has ended later than that, by the machine's uptime: when it was."""
        deadline = time.monotonic() + PATIENCE_S
        while (ended := int(self.shown("InactiveEnterTimestampMonotonic") or 0)) <= after:
            assert time.monotonic() < deadline, self.unit_log()
            time.sleep(0.2)
        return ended

    def await_rest(self):
        """Once no run is under way."""
        deadline = time.monotonic() + PATIENCE_S
        while self.shown("ActiveState") == "activating":
            assert time.monotonic() < deadline, self.unit_log()
            time.sleep(0.2)

    def unit_log(self):
        return self.sh("systemctl status 'fleetops*' 2>&1").stdout

    def left(self):
        """Units of that name, in files and in the managers' memory."""
        files = self.sh("find /etc/systemd /home /root/.config -name '*fleetops-sweep*' 2>/dev/null").stdout
        return files + self.sh("systemctl list-units --all --plain --no-legend 'fleetops*'").stdout


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    with real_systemd(tmp_path_factory.mktemp("systemd"), ROOT, Path(sys.prefix)) as running:
        one = Host(running, "/root")
        made = one.sh('mkdir -p "$1"; cat > "$1/fleet.yaml"; chmod -R a+rX "$1"', FLEET, stdin=INVENTORY)
        assert made.ok, made
        yield one


@pytest.fixture
def ada(host):
    """A user whose own manager runs."""
    script = """
        grep -q ':1000:1000:' /etc/passwd || echo 'ada:x:1000:1000::/home/ada:/bin/sh' >> /etc/passwd
        mkdir -p /run/user/1000 /home/ada; chown 1000:1000 /run/user/1000 /home/ada
        cat > /etc/systemd/system/user@1000.service; systemctl daemon-reload; systemctl start user@1000.service
    """
    assert host.sh(script, stdin=MANAGER).ok
    # In memory only: the folders above what is bound from this machine.
    bound = (ROOT, Path(sys.prefix))
    above = {one for file in (*bound, Path(sys.executable).resolve()) for one in file.parents}
    outer = [str(one) for one in above if not any(one.is_relative_to(folder) for folder in bound)]
    host.sh('chmod a+x "$@"', *outer)
    if not host.sh(f'{AS_ADA} test -x "{sys.executable}" -a -r "{ROOT}/fleetops/__init__.py"').ok:
        pytest.skip("another user may not read this checkout or its interpreter")
    manager = f"{AS_ADA} env XDG_RUNTIME_DIR=/run/user/1000 systemctl --user"
    one = Host(host.running, "/home/ada", AS_ADA, manager)
    ready = f"for _ in $(seq 100); do {manager} show --property=Version && exit; sleep 0.1; done; exit 1"
    assert host.sh(ready).ok
    yield one
    host.sh(
        "systemctl stop user@1000.service; rm /etc/systemd/system/user@1000.service; systemctl daemon-reload"
    )


def test_the_timer_fires_the_sweep_is_remembered_and_removing_leaves_nothing(host):
    ran = host.fleetops("install", "--every", "5s", "--json")
    assert ran.ok, ran.stderr
    assert json.loads(ran.stdout)["by"] == "systemd"
    host.await_end(after=host.await_end())
    again = host.fleetops("install", "--every", "1h", "--system")
    assert "+OnUnitActiveSec=3600s" in again.stdout
    host.await_rest()
    told = host.status()
    (one,) = told["schedules"]
    assert (one["last_exit"], one["ran_well"], one["troubles"]) == (3, True, []), host.unit_log()
    assert (one["active"], one["enabled"], one["every_s"]) == (True, True, 3600.0)
    assert one["next_at"] > time.time()
    assert abs(told["sweep"]["at"] - one["last_at"]) < PATIENCE_S
    assert host.fleetops("status").status == 0
    removed = host.fleetops("remove")
    assert removed.ok, removed.stderr
    assert host.left() == ""
    assert host.status()["installed"] is False


def test_its_hardening_is_in_force_and_state_alone_can_be_written(host):
    assert host.fleetops("install", "--every", "1h").ok
    tries = (
        "for folder in /root/.local/state/fleetops /etc /root; do touch $folder/probe && echo $folder; done"
    )
    drop_in = f'[Service]\nExecStart=\nExecStart=/bin/sh -c "{tries.replace("$", "$$")} > /root/.local/state/fleetops/wrote"\n'
    folder = f"/etc/systemd/system/{host.service}.d"
    assert host.sh(f"mkdir -p {folder}; cat > {folder}/try.conf; systemctl daemon-reload", stdin=drop_in).ok
    host.sh(f"systemctl start {host.service}")
    assert host.sh("cat /root/.local/state/fleetops/wrote").stdout == "/root/.local/state/fleetops\n", (
        host.unit_log()
    )
    host.sh(f"rm -r {folder}")
    assert host.fleetops("remove").ok
    assert host.left() == ""


def test_a_users_own_manager_sweeps_as_that_user(host, ada):
    ran = ada.fleetops("install", "--every", "1h", "--json")
    assert ran.ok, ran.stderr
    told = json.loads(ran.stdout)
    assert told["by"] == "systemd --user"
    name = host.sh("id -un 1000").stdout.strip()
    assert told["notes"][0].endswith(f"loginctl enable-linger {name}")
    assert ada.sh(f"{ada.manager} start {ada.service}").ok, ada.shown("Result")
    (one,) = ada.status()["schedules"]
    assert (one["last_exit"], one["ran_well"], one["active"], one["enabled"]) == (3, True, True, True)
    assert host.sh("stat -c %u /home/ada/.local/state/fleetops/fleetops.db").stdout == "1000\n"
    assert ada.fleetops("remove").ok
    assert host.left() == ""
