"""Units as text: what is in them, what a user's may not have, and that systemd itself finds nothing wrong."""

import os
import shutil
import subprocess
from dataclasses import replace

import pytest

from fleetops.fleet.scheduling.marks import read_mark
from fleetops.fleet.scheduling.units import service_unit, timer_unit
from fleetops.model.errors import UsageError
from fleetops.model.schedule import Schedule

SCHEDULE = Schedule(
    name="fleetops-sweep-inventory-3fa9c1",
    inventory="/srv/fleet/inventory",
    argv=("/usr/bin/python3", "-P", "-m", "fleetops", "sweep", "--json", "node-*", "!node-[1-3]"),
    environment={"HOME": "/root", "FLEETOPS_STATE": "/var/lib/fleetops"},
    every_s=300.0,
    deadline_s=60.0,
    state="/var/lib/fleetops",
    writable=("/var/lib/fleetops", "/var/cache/fleetops"),
    needs=("/usr/bin/python3", "/root"),
)
ODD = replace(
    SCHEDULE,
    inventory="/srv/my %n $HOME 'fleet\"",
    argv=("/usr/bin/python3", "-m", "fleetops", "/srv/my %n $HOME 'fleet\"", "back\\slash", ";", ""),
    environment={"HOME": "/root/a b%c"},
    writable=("/var/lib/my state", "/var/lib/100%", '/var/lib/"quoted"'),
)


def section(text, name):
    """Its lines, in order."""
    body = text.partition(f"[{name}]\n")[2].partition("\n[")[0]
    return [line for line in body.splitlines() if line and not line.startswith("#")]


def values(text, key):
    return [line.partition("=")[2] for line in text.splitlines() if line.startswith(f"{key}=")]


def test_the_service_sweeps_once_and_is_ended_after_the_sweeps_own_deadline():
    text = service_unit(SCHEDULE, system=True)
    assert values(text, "Type") == ["oneshot"]
    assert values(text, "ExecStart") == [" ".join(SCHEDULE.argv)]
    assert values(text, "Environment") == ["HOME=/root", "FLEETOPS_STATE=/var/lib/fleetops"]
    assert values(text, "TimeoutStartSec") == ["120"]
    assert values(text, "Restart") == []


def test_findings_and_unknowns_are_no_failure_of_the_unit_and_all_else_is():
    assert values(service_unit(SCHEDULE, system=True), "SuccessExitStatus") == ["1 3"]


@pytest.mark.parametrize("system", [True, False])
def test_either_is_hardened_and_gives_way_to_everything_else(system):
    lines = section(service_unit(SCHEDULE, system=system), "Service")
    for line in (
        "NoNewPrivileges=yes",
        "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX",
        "MemoryMax=1G",
        "CPUWeight=20",
        "Nice=10",
        "UMask=0077",
    ):
        assert line in lines


def test_the_systems_writes_nowhere_but_to_state_cache_and_the_textfiles_folder():
    text = service_unit(SCHEDULE, system=True)
    assert values(text, "ProtectSystem") == ["strict"]
    assert values(text, "ProtectHome") == ["read-only"]
    assert values(text, "ReadWritePaths") == ["/var/lib/fleetops", "/var/cache/fleetops"]
    assert values(text, "PrivateTmp") == ["yes"]


def test_what_lies_among_the_temporary_files_is_not_hidden_from_it():
    text = service_unit(replace(SCHEDULE, inventory="/tmp/fleetops-lab-0/inventory"), system=True)
    assert values(text, "PrivateTmp") == []
    assert "/tmp" in values(text, "ReadWritePaths")
    beside = service_unit(replace(SCHEDULE, inventory="/tmpfleet/inventory"), system=True)
    assert values(beside, "PrivateTmp") == ["yes"]


def test_a_users_has_nothing_that_a_user_may_not_have():
    text = service_unit(SCHEDULE, system=False)
    for name in ("Protect", "Private", "ReadWritePaths", "CapabilityBoundingSet", "User="):
        assert not [line for line in text.splitlines() if line.startswith(name)]


def test_the_timer_begins_soon_and_counts_from_the_last_start():
    lines = section(timer_unit(SCHEDULE), "Timer")
    assert "OnActiveSec=30s" in lines
    assert "OnUnitActiveSec=300s" in lines
    assert "RandomizedDelaySec=10s" in lines
    assert "Unit=fleetops-sweep-inventory-3fa9c1.service" in lines
    assert section(timer_unit(SCHEDULE), "Install") == ["WantedBy=timers.target"]
    assert "OnActiveSec=2s" in timer_unit(replace(SCHEDULE, every_s=2.0)).splitlines()


@pytest.mark.parametrize("text", [service_unit(ODD, system=True), timer_unit(ODD)])
def test_each_tells_who_has_written_it_and_for_what(text):
    mark = read_mark(text)
    assert mark is not None
    assert (mark.inventory, mark.every_s, mark.state) == (ODD.inventory, 300.0, "/var/lib/fleetops")
    assert read_mark("[Service]\nExecStart=/usr/bin/fleetops sweep\n") is None


def test_words_arrive_as_they_are_specifiers_and_variables_included():
    (command,) = values(service_unit(ODD, system=True), "ExecStart")
    assert '"/srv/my %%n $$HOME \'fleet\\""' in command
    assert command.endswith('"back\\\\slash" ";" ""')
    assert values(service_unit(ODD, system=True), "Environment") == ['"HOME=/root/a b%%c"']
    assert values(service_unit(ODD, system=True), "ReadWritePaths")[:3] == [
        '"/var/lib/my state"',
        "/var/lib/100%%",
        "'/var/lib/\"quoted\"'",
    ]


@pytest.mark.parametrize("word", ["bell\x07", "byte\udcff", "delete\x7f"])
def test_what_no_unit_can_hold_is_refused(word):
    with pytest.raises(UsageError):
        service_unit(replace(SCHEDULE, argv=("/usr/bin/python3", word)), system=True)


@pytest.mark.parametrize("folder", ["/a\nReadWritePaths=/", "/both\"and'"])
def test_a_folder_that_no_list_of_paths_can_hold_is_refused(folder):
    with pytest.raises(UsageError, match="has a name that no unit can hold"):
        service_unit(replace(SCHEDULE, writable=(folder,)), system=True)


def test_a_newline_adds_no_line():
    text = service_unit(
        replace(SCHEDULE, inventory="/a\nUser=ada", argv=("/bin/x", "a\nUser=ada")), system=True
    )
    assert values(text, "User") == []


@pytest.mark.parametrize("system", [True, False], ids=["system", "user"])
@pytest.mark.parametrize("schedule", [SCHEDULE, ODD], ids=["plain", "odd"])
def test_systemd_finds_nothing_wrong_with_them(tmp_path, schedule, system):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    files = {f"{schedule.name}.service": service_unit(schedule, system=system)}
    files[f"{schedule.name}.timer"] = timer_unit(schedule)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        [
            "systemd-analyze",
            *([] if system else ["--user"]),
            "verify",
            "--man=no",
            *(tmp_path / name for name in files),
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path), "SYSTEMD_LOG_LEVEL": "info"},
        check=False,
    )
    if "Failed to initialize manager" in done.stderr:
        pytest.skip(f"systemd-analyze cannot work here: {done.stderr.strip()}")
    complaints = [line for line in done.stderr.splitlines() if schedule.name in line]
    assert (done.returncode, complaints) == (0, [])


def test_the_check_notices(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "bad.service"
    unit.write_text(service_unit(SCHEDULE, system=True).replace("Nice=10", "Nicer=10"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, check=False
    )
    assert "Nicer" in done.stderr
