"""Checks of a host's machine that only a sweep has the facts for: boot, clock, swap, disks, units, answering."""

from dataclasses import replace

import pytest
from machine_scenes import (
    NO_SYSTEMD,
    NOW,
    ROOT,
    SHM,
    SWEPT,
    bare,
    disks,
    file_system,
    sight,
    swept,
)
from node_scenes import memory, missing, service_processes

from fleetops.checks import all_checks, hypervisor_checks, judge
from fleetops.model.disk import FILE_SYSTEMS
from fleetops.model.fact import Facts, Gap, Missing
from fleetops.model.finding import Severity
from fleetops.model.kernel import KERNEL_LOG
from fleetops.model.machine import (
    ANSWERED,
    CLOCK,
    FAILED_UNITS,
    IDENTITY,
    MEMORY,
    Answered,
    Clock,
    Identity,
)
from fleetops.model.past import Past
from fleetops.model.units import GB

CHECKS = {check.name: check for check in all_checks()}
OF_HYPERVISORS = {check.name: check for check in hypervisor_checks()}
CRITICAL, UNKNOWN, WARNING = Severity.CRITICAL, Severity.UNKNOWN, Severity.WARNING
HERE = (
    "rebooted", "clock-skew", "memory-falling", "swap-used", "oom-killed", "disk-full", "inodes-full", "shm-full",
    "failed-units", "hung-tasks", "slow-to-answer",
)  # fmt: skip
FRESH = {IDENTITY: Identity(hostname="node-174", machine_id="5e0c", boot_id="c0ffee00-1", uptime_s=180)}
SWAPPING = {MEMORY: memory(100, swap_total_bytes=8 * GB, swap_free_bytes=3 * GB)}
LATE = Missing(Gap.TIMED_OUT, "no answer in 10 s")


def full(mount, used, **fields):
    return {FILE_SYSTEMS: disks(SHM, file_system(mount, used, **fields), *([] if mount == "/" else [ROOT]))}


ALIKE = [
    ("rebooted", FRESH, WARNING, "up since 3 min: its boot id is c0ffee00, at the last sweep, 5 min ago it was b"),
    ("clock-skew", {CLOCK: Clock(epoch_s=NOW + 8)}, WARNING, "its clock is 6 s ahead of this machine's; up to 5 s"),
    ("clock-skew", {CLOCK: Clock(epoch_s=NOW - 3600)}, WARNING, "its clock is 1 h behind this machine's"),
    ("swap-used", SWAPPING, WARNING, "5 GB of 8 GB swap are in use, more than 1 GB; 100 GB of memory are available"),
    ("disk-full", full("/", 92), WARNING, "/ is 92 % full (40 GB left); the limit is 90 %"),
    ("disk-full", full("/", 99), CRITICAL, "/ is 99 % full (5 GB left); the limit is 97 %"),
    ("disk-full", full("/data", 100), CRITICAL, "/data is 100 % full (0 GB left)"),
    ("disk-full", {FILE_SYSTEMS: disks(ROOT, SHM, unread=("/data",))}, UNKNOWN, "df tells nothing of /data"),
    ("inodes-full", full("/", 40, inodes_free=50_000), WARNING, "/ has 50,000 of 1,000,000 inodes left; the limit is 90 %"),
    ("inodes-full", full("/", 40, inodes_free=0), CRITICAL, "/ has 0 of 1,000,000 inodes left; the limit is 98 %"),
    ("failed-units", {FAILED_UNITS: ("dcgm.service", "a.mount")}, WARNING, "2 units failed: dcgm.service, a.mount"),
    ("slow-to-answer", {ANSWERED: Answered(seconds=22)}, WARNING, "it took 22.00 s to answer, more than 15 s"),
    ("slow-to-answer", {ANSWERED: Answered(seconds=22), KERNEL_LOG: LATE}, WARNING, "in time came of kernel log"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "facts", "severity", "said"), ALIKE)
def test_a_node_and_a_proxmox_host_are_judged_alike(name, facts, severity, said):
    for check, seen in ((CHECKS[name], swept(facts=facts)), (OF_HYPERVISORS[name], sight(facts))):
        (finding,) = check.judge(seen)
        assert (finding.check, finding.severity) == (name, severity)
        assert said in finding.evidence
        assert 2 <= len(finding.subject.split()) <= 4 or finding.subject == "rebooted"
        assert f" {finding.host} " in finding.next or finding.next == f"fleetops probe {finding.host}"


@pytest.mark.parametrize("name", HERE)
@pytest.mark.parametrize("seen", [swept(), swept(*service_processes()), bare(*service_processes())])
def test_a_healthy_node_says_nothing(name, seen):
    assert CHECKS[name].judge(seen) == []


NEEDS = [
    ("rebooted", IDENTITY), ("clock-skew", CLOCK), ("clock-skew", ANSWERED), ("memory-falling", MEMORY),
    ("memory-falling", IDENTITY), ("swap-used", MEMORY), ("disk-full", FILE_SYSTEMS), ("inodes-full", FILE_SYSTEMS),
    ("shm-full", FILE_SYSTEMS), ("failed-units", FAILED_UNITS),
    ("slow-to-answer", ANSWERED),
]  # fmt: skip


@pytest.mark.parametrize(("name", "key"), NEEDS)
def test_a_missing_fact_is_unknown_and_never_healthy(name, key):
    (finding,) = CHECKS[name].judge(swept(facts={key: missing()}))
    assert (finding.severity, finding.check) == (UNKNOWN, name)
    assert finding.evidence == f"{key.name.replace('-', ' ')}: timed out: no answer in 10 s"
    assert finding.next == "fleetops probe node-174"


@pytest.mark.parametrize("name", ["oom-killed", "hung-tasks"])
def test_a_kernel_log_that_was_not_read_is_unknown_where_the_kernel_is(name):
    gap = {KERNEL_LOG: missing(Gap.UNPARSABLE, "denied")}
    assert CHECKS[name].judge(swept(facts=gap)) == []  # a container's kernel is its hypervisor's
    (finding,) = CHECKS[name].judge(swept(on_hypervisor=gap))
    assert (finding.severity, finding.evidence) == (UNKNOWN, "kernel log on pve-01: unparsable: denied")
    (finding,) = CHECKS[name].judge(bare(facts=gap))
    assert (finding.severity, finding.evidence) == (UNKNOWN, "kernel log: unparsable: denied")


@pytest.mark.parametrize("name", HERE)
def test_a_host_that_was_not_asked_is_unknown_or_the_check_has_no_need(name):
    nothing = replace(swept(), node_facts=Facts("node-174", NOW), hypervisor_facts=Facts("pve-01", NOW))
    assert {one.severity for one in CHECKS[name].judge(nothing)} == {UNKNOWN}


def test_all_of_them_are_for_sweeps_alone():
    assert all(CHECKS[name].sweeps_only for name in HERE)
    assert {check.name for check in all_checks()} >= set(HERE)


def test_a_silent_node_is_said_so_once_in_a_sweep():
    gap = Missing(Gap.UNREACHABLE, "node-174: no answer within 10 s", reason="timeout")
    seen = swept()
    mute = replace(seen, node_facts=Facts("node-174", NOW, dict.fromkeys(seen.node_facts.readings, gap)))
    names = [one.check for one in judge(replace(mute, sweeping=True))]
    assert not {name for name in names if name in HERE}
    assert names.count("unreachable") == 1


# Boot.


@pytest.mark.parametrize("words", [{}, {"boot-id": ""}, {"boot-id": "c0ffee00-1"}])
def test_a_host_whose_former_boot_is_not_known_or_the_same_has_not_rebooted(words):
    past = replace(SWEPT, words=words)
    assert CHECKS["rebooted"].judge(swept(facts=FRESH, past=past)) == []


def test_a_reboot_is_firm_when_it_is_seen_once():
    assert CHECKS["rebooted"].latched
    assert OF_HYPERVISORS["rebooted"].latched


# Clock.


def test_what_the_reading_itself_took_is_no_skew():
    slow = {CLOCK: Clock(epoch_s=NOW + 40), ANSWERED: Answered(seconds=41)}
    assert CHECKS["clock-skew"].judge(swept(facts=slow)) == []


@pytest.mark.parametrize("off", [-5.0, 7.0])
def test_a_clock_at_the_limit_is_let_pass(off):
    assert CHECKS["clock-skew"].judge(swept(facts={CLOCK: Clock(epoch_s=NOW + off)})) == []


# Disks.


def test_a_large_disk_with_room_is_not_called_full():
    assert CHECKS["disk-full"].judge(swept(facts=full("/data", 95, size_gb=8000))) == []


def test_the_worst_disk_is_said_first_and_sets_the_severity():
    both = {FILE_SYSTEMS: disks(file_system("/", 91), file_system("/log", 98), SHM)}
    (finding,) = CHECKS["disk-full"].judge(swept(facts=both))
    assert finding.severity is CRITICAL
    assert finding.evidence.startswith("/log is 98 % full (10 GB left), / is 91 % full (45 GB left)")


def test_shared_memory_is_no_disk_and_has_its_own_check():
    facts = {FILE_SYSTEMS: disks(ROOT, file_system("/dev/shm", 99, size_gb=220))}
    assert CHECKS["disk-full"].judge(swept(facts=facts)) == []
    (finding,) = CHECKS["shm-full"].judge(swept(facts=facts))
    assert (finding.severity, finding.subject) == (CRITICAL, "shared memory full")
    assert finding.evidence == "/dev/shm is 99 % full (2.2 GB of 220 GB left); the limit is 95 %"


def test_shared_memory_that_fills_up_is_a_warning_and_one_that_is_not_there_is_unknown():
    (finding,) = CHECKS["shm-full"].judge(swept(facts={FILE_SYSTEMS: disks(file_system("/dev/shm", 82))}))
    assert finding.severity is WARNING
    (finding,) = CHECKS["shm-full"].judge(swept(facts={FILE_SYSTEMS: disks(ROOT)}))
    assert finding.severity is UNKNOWN


def test_a_file_system_without_a_fixed_number_of_inodes_has_enough():
    facts = full("/", 40, inodes=None, inodes_free=None)
    assert CHECKS["inodes-full"].judge(swept(facts=facts)) == []


# Units, swap, answering.


def test_a_host_without_systemd_has_no_failed_units_and_one_that_was_not_asked_is_unknown():
    assert CHECKS["failed-units"].judge(swept(facts={FAILED_UNITS: NO_SYSTEMD})) == []
    seen = swept()
    readings = {name: one for name, one in seen.node_facts.readings.items() if name != FAILED_UNITS.name}
    (finding,) = CHECKS["failed-units"].judge(replace(seen, node_facts=Facts("node-174", NOW, readings)))
    assert finding.severity is UNKNOWN


def test_a_little_swap_is_idle_daemons():
    little = {MEMORY: memory(100, swap_total_bytes=8 * GB, swap_free_bytes=7 * GB)}
    assert CHECKS["swap-used"].judge(swept(facts=little)) == []


def test_a_silent_host_is_not_called_slow():
    gap = Missing(Gap.UNREACHABLE, "no route", reason="no-route")
    seen = swept()
    mute = replace(seen, node_facts=Facts("node-174", NOW, dict.fromkeys(seen.node_facts.readings, gap)))
    assert CHECKS["slow-to-answer"].judge(mute) == []


def test_the_first_sweep_of_a_host_says_nothing_of_what_was_before():
    for name in HERE:
        assert CHECKS[name].judge(swept(past=Past())) == []
