"""`fleetops schedule` where there is no systemd: a stand-in for `crontab`, and Debian's own, its spool in memory."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fleetops.cli.program import build_parser

MINE = b"# mine\nMAILTO=ada\n5 4 * * * echo caf\xe9 100\\% \n"
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def cron(desk):
    return desk.with_cron()


def test_its_block_joins_what_is_there_and_leaves_it_again_byte_for_byte(cron):
    cron.crontab.write_bytes(MINE)
    ran = cron("install", "--every", "10m", "--json")
    assert (ran.status, ran.json["by"], ran.json["written"]) == (0, "cron", True)
    put = cron.crontab.read_bytes()
    assert put.startswith(MINE)
    assert put.removeprefix(MINE).splitlines()[2].startswith(b"*/10 * * * * umask 077; ")
    ran = cron("install", "--every", "15m")
    assert "+*/15 * * * *" in ran.stdout
    assert cron.crontab.read_bytes().count(b"fleetops sweep --inventory") == 1
    assert cron("remove").stdout.startswith("removed   crontab of ")
    assert cron.crontab.read_bytes() == MINE


def test_a_crontab_that_held_nothing_else_is_gone(cron):
    assert cron("install").status == 0
    assert cron("remove").status == 0
    assert not cron.crontab.exists()
    assert not (cron.folder / "state/schedule").exists()
    assert cron("remove").status == 0


def test_print_writes_nothing(cron):
    ran = cron("install", "--print")
    assert "*/5 * * * *" in ran.stdout
    assert not cron.crontab.exists()


def test_a_crontab_that_cannot_be_read_is_not_taken_for_an_empty_one(cron):
    (cron.stand_in / "crontab-fails").write_text("crontab: the disk is on fire\n")
    for words in (("install",), ("remove",), ("status",)):
        ran = cron(*words)
        assert ran.status == 4
        assert "the disk is on fire" in ran.stderr
    assert not cron.crontab.exists()


def test_who_may_have_no_crontab_is_told_so_and_may_have_units(cron):
    (cron.stand_in / "crontab-fails").write_text("You (ada) are not allowed to use this program (crontab)\n")
    ran = cron("install")
    assert ran.status == 4
    assert "not allowed to use this program (crontab); it is as it was" in ran.stderr.replace("\n", " ")
    assert cron("remove").status == 0
    cron.with_systemd()
    assert cron("install", "--system").status == 0


def test_marks_that_somebody_has_changed_are_left_alone(cron):
    cron("install")
    broken = cron.crontab.read_text().replace(" end\n", " END\n")
    cron.crontab.write_text(broken)
    assert cron("install").status == 4
    assert cron("remove").status == 4
    assert cron.crontab.read_text() == broken


def test_a_change_by_somebody_else_at_the_same_moment_is_noticed(cron):
    text = (cron.bin / "crontab").read_text()
    cron.program("crontab", text.replace('mv "$tab.new" "$tab"', 'echo "# theirs" > "$tab"'))
    ran = cron("install")
    assert ran.status == 4
    assert "somebody else has changed it" in ran.stderr


def test_with_neither_it_says_what_to_type(desk):
    ran = desk("install", "--every", "10m", "n1")
    assert ran.status == 4
    assert "systemd is not this machine's first process; crontab is not installed" in ran.stderr
    assert "fleetops sweep --every 600s n1" in ran.stderr
    told = ran.stderr.partition("fleetops sweep")[2].split()
    assert build_parser(only="sweep").parse_args(["sweep", *told]).every == 600
    assert desk("status").status == 1
    assert desk("remove").status == 0


def test_without_a_lock_no_line_is_written(cron):
    (cron.bin / "flock").unlink()
    ran = cron("install")
    assert ran.status == 4
    assert "flock is not installed" in ran.stderr
    assert not cron.crontab.exists()


def test_the_systems_is_roots(cron, is_root):
    if is_root:
        pytest.skip("root's own crontab is the system's")
    assert "only root" in cron("install", "--system").stderr


def test_what_cron_cannot_do_is_refused(cron):
    ran = cron("install", "--every", "7m")
    assert (ran.status, "--every 6m" in ran.stderr) == (2, True)
    assert not cron.crontab.exists()


def test_status_tells_of_the_last_run_and_that_no_daemon_runs(cron):
    cron("install")
    (cron.root / "proc/1").mkdir(parents=True)
    (cron.root / "proc/1/comm").write_text("init\n")
    name = cron("status", "--json").json["name"]
    folder = cron.folder / "state/schedule"
    for kind, text, at in (("began", "", cron.now - 100), ("status", "3\n", cron.now - 98)):
        (folder / f"{name}.{kind}").write_text(text)
        os.utime(folder / f"{name}.{kind}", (at, at))
    ran = cron("status")
    assert ran.status == 1
    assert "no cron daemon was seen running here" in ran.stdout
    assert "took 2.0 s, something is unknown (exit code 3)" in ran.stdout
    (cron.root / "proc/2").mkdir()
    (cron.root / "proc/2/comm").write_text("cron\n")
    ran = cron("status", "--json")
    (one,) = ran.json["schedules"]
    assert (ran.status, one["active"], one["last_exit"], one["running"]) == (0, True, 3, False)
    assert cron.now < one["next_at"] <= cron.now + 300
    os.utime(folder / f"{name}.began", (cron.now - 5, cron.now - 5))
    (one,) = cron("status", "--json").json["schedules"]
    assert (one["running"], one["last_exit"]) == (True, None)


# As root, in namespaces of its own: what `crontab` writes stays in memory, and nobody's crontab is touched.
PRIVATE = """
    mount -t tmpfs tmpfs /var/spool/cron && mkdir -m 1730 /var/spool/cron/crontabs && mount -t tmpfs tmpfs /run || exit
    fleetops() { "$python" -m fleetops "$@" --inventory "$PWD/inventory"; }
"""
ONCE = """
    printf '# mine\\n0 0 * * * true\\n' | crontab - || exit
    fleetops schedule install --every 5m > installed || exit
    line=$(crontab -l | grep -F sweep | grep -v '^#' | cut -d' ' -f6- | sed 's/\\\\%/%/g')
    env -i PATH=/usr/bin:/bin HOME=/nowhere SHELL=/bin/sh LOGNAME=root sh -c "$line" || exit
    fleetops schedule status --json > status
    fleetops schedule remove > removed || exit
    crontab -l > last
"""
DAEMON = """
    fleetops schedule install --every 1m > installed || exit
    cron -f & daemon=$!
    tries=0
    until [ -s .local/state/fleetops/schedule/*.status ] || [ $tries = 900 ]; do sleep 0.1; tries=$((tries + 1)); done
    fleetops schedule status --json > status
    fleetops schedule remove > removed
    kill $daemon
"""


@pytest.fixture
def debians(tmp_path, is_root):
    """Runs a script with Debian's own cron, and gives what `status` said then."""
    if not (is_root and shutil.which("crontab") and Path("/var/spool/cron").is_dir()):
        pytest.skip("needs root and Debian's cron")
    (tmp_path / "inventory").mkdir()
    (tmp_path / "inventory/fleet.yaml").write_text("nodes: {n1: {address: 127.0.0.1, port: 1}}\n")

    def run(script):
        done = subprocess.run(
            [
                "unshare",
                "--mount",
                "--pid",
                "--fork",
                "--mount-proc",
                "--kill-child",
                "sh",
                "-c",
                PRIVATE + script,
            ],
            cwd=tmp_path,
            env={
                "HOME": str(tmp_path),
                "PATH": os.defpath + ":/usr/sbin",
                "PYTHONPATH": str(ROOT),
                "python": sys.executable,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        if "unshare" in done.stderr or "mount:" in done.stderr:
            pytest.skip(f"no namespaces of its own here: {done.stderr.strip()}")
        return done, json.loads((tmp_path / "status").read_text())

    return run


def test_debians_own_crontab_and_the_line_as_cron_would_run_it(debians, tmp_path):
    done, status = debians(ONCE)
    assert done.returncode == 0, done.stderr
    (one,) = status["schedules"]
    assert (one["keeper"], one["every_s"], one["last_exit"], one["ran_well"]) == ("cron", 300.0, 3, True)
    assert status["sweep"]["age_s"] < 60
    assert (tmp_path / "last").read_text() == "# mine\n0 0 * * * true\n"


@pytest.mark.long
def test_debians_cron_itself_starts_it(debians):
    done, status = debians(DAEMON)
    (one,) = status["schedules"]
    assert (one["active"], one["last_exit"], one["troubles"]) == (True, 3, []), done.stderr
    assert status["sweep"]["age_s"] < 90
