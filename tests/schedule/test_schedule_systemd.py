"""`fleetops schedule` where systemd runs; what its manager would do is a stand-in's, the files are real."""

import time

import pytest

from fleetops.fleet.scheduling.machine import Machine
from fleetops.fleet.scheduling.systemd import Systemd
from fleetops.fleet.scheduling.systemd_standing import read_span, read_time, stands
from fleetops.model.sweep import Sweep
from fleetops.store.sweeps import SweepStore


@pytest.fixture
def systemd(desk):
    return desk.with_systemd().with_cron()


def shows(desk, **kinds):
    """What the stand-in shows of timer and service, `None` for nothing."""
    for kind, properties in kinds.items():
        unit = desk.unit("timer").with_suffix(f".{kind}").name
        lines = "".join(f"{name}={value}\n" for name, value in properties.items())
        (desk.stand_in / f"show.{unit}").write_text(lines)


UP = {"ActiveState": "active", "UnitFileState": "enabled", "LoadState": "loaded"}


def test_installed_it_is_enabled_and_started(systemd):
    ran = systemd("install", "--system", "--every", "10m", "n1")
    assert (ran.status, ran.stderr) == (0, "")
    timer = systemd.unit("timer").name
    assert systemd.calls[-3:] == ["daemon-reload", f"enable --quiet {timer}", f"restart {timer}"]
    assert ran.stdout.splitlines()[0].split(maxsplit=1) == ["scheduled", "systemd, every 10 min"]
    assert str(systemd.unit("service")) in ran.stdout
    assert ran.stdout.splitlines()[-1] == "  fleetops schedule status"
    assert " n1" in systemd.unit("service").read_text()
    assert "OnUnitActiveSec=600s" in systemd.unit("timer").read_text()
    assert not systemd.crontab.exists()
    assert {file.stat().st_mode & 0o777 for file in systemd.units.iterdir()} == {0o644}
    assert (systemd.folder / "state").is_dir()
    assert (systemd.folder / "cache").is_dir()


def test_a_users_own_goes_to_the_users_manager_and_says_when_it_ends(systemd):
    ran = systemd("install", "--user")
    assert ran.status == 0
    assert "loginctl enable-linger " in ran.stderr
    folder = systemd.home / ".config/systemd/user"
    assert {file.suffix for file in folder.iterdir()} == {".service", ".timer"}
    assert not systemd.units.exists()
    assert all(call.startswith("--user ") for call in systemd.calls)
    user = Machine(environ={}).user
    linger = systemd.root / "var/lib/systemd/linger" / user
    linger.parent.mkdir(parents=True)
    linger.touch()
    assert systemd("install", "--user").stderr == ""


@pytest.mark.parametrize("words", [(), ("--user",), ("--system",)])
def test_whose_it_is_goes_by_who_asks(systemd, words, is_root):
    ran = systemd("install", "--print", "--json", *words)
    by_system = "--system" in words or (is_root and not words)
    assert ran.json["by"] == ("systemd" if by_system else "systemd --user")


def test_print_shows_all_and_writes_nothing(systemd):
    ran = systemd("install", "--system", "--print")
    assert ran.status == 0
    assert "[Service]" in ran.stdout
    assert "[Timer]" in ran.stdout
    assert not systemd.units.exists()
    assert not (systemd.folder / "cache").exists()
    assert not [call for call in systemd.calls if "show" not in call]


def test_installed_anew_it_shows_what_changes_and_replaces_it(systemd):
    systemd("install", "--system")
    ran = systemd("install", "--system", "--every", "1m", "--deadline", "30s")
    assert ran.status == 0
    lines = ran.stdout.splitlines()
    assert "-OnUnitActiveSec=300s" in lines
    assert "+OnUnitActiveSec=60s" in lines
    assert "+TimeoutStartSec=90" in lines
    assert "OnUnitActiveSec=60s" in systemd.unit("timer").read_text()
    again = systemd("install", "--system", "--every", "1m", "--deadline", "30s")
    assert again.stdout.startswith("scheduled already")
    assert "+" not in again.stdout


@pytest.mark.parametrize("kind", ["service", "timer"])
@pytest.mark.parametrize("words", [("install", "--system"), ("remove",)])
def test_a_file_that_fleetops_has_not_written_is_left_as_it_is(systemd, kind, words):
    systemd("install", "--system")
    systemd.unit(kind).write_text("[Unit]\nDescription=mine\n")
    calls, texts = len(systemd.calls), {file: file.read_text() for file in systemd.units.iterdir()}
    ran = systemd(*words)
    assert ran.status == 5
    assert "fleetops has not written it: it is left as it is" in ran.stderr
    assert {file: file.read_text() for file in systemd.units.iterdir()} == texts
    assert not [call for call in systemd.calls[calls:] if "show" not in call]


def test_a_masked_unit_is_somebodys_will(systemd):
    systemd("install", "--system")
    timer = systemd.unit("timer")
    timer.unlink()
    timer.symlink_to("/dev/null")
    assert systemd("install", "--system").status == 5
    assert timer.is_symlink()


@pytest.mark.parametrize("step", ["daemon-reload", "enable --quiet TIMER", "restart TIMER"])
def test_written_but_not_started_is_said_with_what_to_do(systemd, step):
    systemd("install", "--system")
    timer = systemd.unit("timer").name
    (systemd.stand_in / "fails").write_text(step.replace("TIMER", timer))
    ran = systemd("install", "--system", "--every", "1m")
    assert ran.status == 4
    assert "is written, but not started: `systemctl " in ran.stderr
    assert "Failed to do that: no" in ran.stderr
    assert f"systemctl enable --now {timer}; or: fleetops schedule remove" in ran.stderr


def test_what_cannot_be_written_leaves_nothing_half(systemd, monkeypatch):
    systemd("install", "--system")
    before = {file.name: file.read_text() for file in systemd.units.iterdir()}
    from fleetops.fleet.scheduling import machine

    written = machine.write

    def full(path, text):
        if path.suffix == ".timer" and "OnUnitActiveSec=60s" in text:
            raise OSError(28, "No space left on device")
        written(path, text)

    monkeypatch.setattr(machine, "write", full)
    ran = systemd("install", "--system", "--every", "1m", "--deadline", "5s")
    assert ran.status == 4
    assert "No space left on device; nothing is changed" in ran.stderr
    assert {file.name: file.read_text() for file in systemd.units.iterdir()} == before


def test_a_folder_that_may_not_be_written_says_who_may(systemd, is_root):
    if is_root:
        pytest.skip("root may write everywhere")
    systemd.units.mkdir(parents=True, mode=0o500)
    ran = systemd("install", "--system")
    assert ran.status == 4
    assert "as root, or for your user alone: --user" in ran.stderr


def test_removed_nothing_of_it_is_left(systemd):
    systemd("install", "--system")
    timer, service = systemd.unit("timer").name, systemd.unit("service").name
    (systemd.units / "mine.service").write_text("[Unit]\n")
    ran = systemd("remove")
    assert ran.status == 0
    assert ran.stdout.count("removed   ") == 2
    assert [file.name for file in systemd.units.iterdir()] == ["mine.service"]
    changes = [call for call in systemd.calls if "show" not in call]
    assert changes[-4:] == [
        f"disable --now {timer}",
        f"stop {service}",
        f"reset-failed {service} {timer}",
        "daemon-reload",
    ]
    again = systemd("remove")
    assert (again.status, "nothing to remove" in again.stdout) == (0, True)


def test_where_its_timer_cannot_be_stopped_nothing_is_removed(systemd):
    systemd("install", "--system")
    (systemd.stand_in / "fails").write_text(f"disable --now {systemd.unit('timer').name}")
    ran = systemd("remove")
    assert ran.status == 4
    assert "nothing is removed" in ran.stderr
    assert systemd.unit("timer").exists()


def test_files_are_removed_where_no_manager_answers_any_more(systemd):
    systemd("install", "--system")
    wants = systemd.units / "timers.target.wants"
    wants.mkdir()
    (wants / systemd.unit("timer").name).symlink_to(systemd.unit("timer"))
    (systemd.root / "run/systemd/system").rmdir()
    assert systemd("remove").status == 0
    assert [file for file in systemd.units.rglob("fleetops*") if file.is_symlink() or file.exists()] == []


def test_one_keeper_at_a_time(systemd):
    systemd("install", "--user")
    ran = systemd("install", "--system")
    assert ran.status == 5
    assert "started by systemd --user already, not by systemd" in ran.stderr
    assert not systemd.units.exists()


def test_a_user_whose_manager_does_not_answer_gets_cron(systemd):
    (systemd.stand_in / "fails").write_text("--user show --property=Version")
    ran = systemd("install", "--user")
    assert ran.status == 0
    assert ran.stdout.splitlines()[0].split(maxsplit=1) == ["scheduled", "cron, every 5 min"]
    assert "cron, since the systemd manager of " in ran.stderr
    assert "does not answer: Failed to do that: no" in ran.stderr
    assert systemd.crontab.exists()


def test_status_of_nothing(systemd):
    ran = systemd("status")
    assert ran.status == 1
    assert ran.stdout.splitlines()[0] == f"sweeps of {systemd.folder}/inventory are not scheduled"
    assert ran.stdout.splitlines()[-1] == "  fleetops schedule install"
    assert systemd("status", "--json").json["installed"] is False


def test_status_says_when_what_and_how_it_ended(systemd):
    systemd("install", "--system")
    began = 5_000_000_000  # microseconds since the boot
    shows(
        systemd,
        timer={**UP, "NextElapseUSecMonotonic": "1h 30min", "LastTriggerUSec": ""},
        service={
            "ActiveState": "inactive",
            "Result": "success",
            "ExecMainStatus": 1,
            "ExecMainStartTimestamp": time.strftime(
                "%a %Y-%m-%d %H:%M:%S UTC", time.gmtime(systemd.now - 120)
            ),
            "ExecMainStartTimestampMonotonic": began,
            "ExecMainExitTimestampMonotonic": began + 1_400_000,
        },
    )
    SweepStore(systemd.folder / "state").record(Sweep(at=systemd.now - 119, seconds=1.2, hosts=()), ())
    ran = systemd("status")
    assert ran.status == 0, ran.stdout
    said = {line[:13].strip(): line[13:].strip() for line in ran.stdout.splitlines()[1:-1]}
    assert said["last run"].endswith(", took 1.4 s, with findings (exit code 1)")
    assert said["last sweep"].endswith(", 1 min 59 s ago")
    assert ran.stdout.splitlines()[0].endswith("systemd, every 5 min")
    assert ran.stdout.splitlines()[-1] == f"  journalctl --unit {systemd.unit('service').name}"
    body = systemd("status", "--json").json
    (one,) = body["schedules"]
    assert (body["installed"], one["keeper"], one["active"], one["enabled"], one["last_exit"]) == (
        True, "systemd", True, True, 1,
    )  # fmt: skip
    assert (one["ran_well"], one["late"], one["troubles"]) == (True, False, [])
    assert one["last_at"] == systemd.now - 120
    assert body["sweep"]["age_s"] == 119.0
    assert one["command"].endswith(" --deadline 60s")


def test_when_the_next_one_begins_goes_by_the_machines_uptime(systemd):
    systemd("install", "--system")
    shows(systemd, timer={**UP, "NextElapseUSecMonotonic": "1h 1min 5s"}, service={})
    one = Systemd(
        machine=Machine(environ=systemd.environ, root=systemd.root),
        name=systemd.unit("timer").stem,
        is_system=True,
    )
    standing = stands(one, now=1000.0, uptime=lambda: 3600.0)
    assert standing.next_at == 1065.0


@pytest.mark.parametrize(
    ("timer", "said"),
    [
        ({"ActiveState": "inactive", "UnitFileState": "enabled"}, "the timer is inactive: nothing starts a sweep"),
        ({"ActiveState": "active", "UnitFileState": "disabled"}, "not enabled: nothing starts a sweep after the next boot"),
        ({"ActiveState": "inactive", "LoadState": "not-found"}, "its manager has not read it: systemctl daemon-reload"),
        ({}, "its manager does not tell"),
    ],
)  # fmt: skip
def test_status_says_what_keeps_it_from_sweeping(systemd, timer, said):
    systemd("install", "--system")
    shows(systemd, timer=timer)
    ran = systemd("status")
    assert ran.status == 1
    assert said in ran.stdout


def test_status_says_that_a_run_has_failed_in_systemds_own_words(systemd):
    systemd("install", "--system")
    shows(
        systemd,
        timer=UP,
        service={
            "Result": "timeout",
            "ExecMainStatus": 15,
            "ExecMainStartTimestamp": "Tue 2026-12-01 06:23:23 UTC",
            "ExecMainStartTimestampMonotonic": 1,
            "ExecMainExitTimestampMonotonic": 120_000_001,
        },
    )
    ran = systemd("status")
    assert ran.status == 1
    assert "took 120.0 s, failed: timeout: exit code 15" in ran.stdout


@pytest.mark.parametrize(
    ("code", "said"), [(203, "its program is not there any more"), (226, "its sandbox cannot be set up")]
)
def test_what_went_wrong_before_the_program_began_is_said(systemd, code, said):
    systemd("install", "--system")
    times = {f"ExecMain{word}TimestampMonotonic": 1 for word in ("Start", "Exit")}
    shows(systemd, timer=UP, service={"Result": "exit-code", "ExecMainStatus": code, **times})
    ran = systemd("status")
    assert ran.status == 1
    assert said in ran.stdout


def test_status_of_half_an_installation_names_the_missing_half(systemd):
    systemd("install", "--system")
    systemd.unit("service").unlink()
    ran = systemd("status")
    assert ran.status == 1
    assert ".service is missing" in ran.stdout


def test_sweeps_that_stay_away_are_late(systemd):
    systemd("install", "--system")
    shows(systemd, timer=UP, service={})
    SweepStore(systemd.folder / "state").record(Sweep(at=systemd.now - 3600, seconds=1.0, hosts=()), ())
    ran = systemd("status")
    assert ran.status == 1
    assert "60 min ago: late" in ran.stdout or "1 h ago: late" in ran.stdout


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("3min 2.5s", 182.5), ("1h 13min 3.017763s", 4383.017763), ("2d 500ms", 172_800.5), ("40us", 4e-5),
     ("1month 1w", 3_234_600), ("", None), ("infinity", None), ("5 apples", None), ("3min ago", None)],
)  # fmt: skip
def test_spans_of_time_as_systemd_prints_them(text, seconds):
    assert read_span(text) == (None if seconds is None else pytest.approx(seconds))


def test_times_as_systemd_prints_them():
    assert read_time("Tue 2026-12-01 06:23:23 UTC") == 1796106203.0
    assert read_time("") is None
    assert read_time("n/a") is None


def test_a_key_of_the_agents_alone_is_said(systemd):
    systemd.environ["SSH_AUTH_SOCK"] = "/run/agent"
    ran = systemd("install", "--system")
    assert ran.status == 0
    assert "n[1-2]: the key is in your agent only, and a timer has no agent" in ran.stderr
    (systemd.home / ".ssh").mkdir()
    import paramiko

    paramiko.ECDSAKey.generate().write_private_key_file(str(systemd.home / ".ssh/id_ecdsa"))
    assert "agent" not in systemd("install", "--system").stderr


def test_a_users_manager_may_have_an_agent(systemd):
    systemd.environ["SSH_AUTH_SOCK"] = "/run/agent"
    assert "agent only" in systemd("install", "--user").stderr
    (systemd.stand_in / "show.show-environment").write_text(
        "PATH=/usr/bin\nSSH_AUTH_SOCK=/run/user/1000/agent\n"
    )
    assert "agent only" not in systemd("install", "--user").stderr


@pytest.mark.parametrize("words", [("n9",), ("--", "--recover=overnight")])
def test_hosts_that_there_are_not_are_refused_before_anything_is_written(systemd, words):
    ran = systemd("install", "--system", *words)
    assert ran.status == 2
    assert not systemd.units.exists()


def test_text_of_a_folder_does_not_act_on_the_terminal(systemd):
    ran = systemd("install", "--system", "--textfile", "a\x1b[31m.prom")
    assert ran.status == 2
    assert "\x1b" not in ran.stdout + ran.stderr
