"""Checks of Proxmox hosts: silence, memory, and the guests of the inventory as their host knows them."""

from dataclasses import replace

import pytest
from machine_scenes import (
    IDENTITY_OF_HOST,
    NO_SYSTEMD,
    NOW,
    SWEPT,
    entry,
    guest_facts,
    sight,
    state,
)
from node_scenes import memory, missing

from fleetops.checks import hypervisor_checks, judge_hypervisor
from fleetops.checks.hypervisor import lock_stale
from fleetops.model.disk import FILE_SYSTEMS
from fleetops.model.fact import Facts, Gap, Missing
from fleetops.model.finding import Severity
from fleetops.model.guest import ARC, CLAIMS, GUESTS, Arc, PendingChange, Task
from fleetops.model.kernel import KERNEL_LOG
from fleetops.model.machine import ANSWERED, CLOCK, FAILED_UNITS, IDENTITY, MEMORY
from fleetops.model.units import GB, GIB

CHECKS = {check.name: check for check in hypervisor_checks()}
CRITICAL, UNKNOWN, WARNING = Severity.CRITICAL, Severity.UNKNOWN, Severity.WARNING
RUNS = Task(upid="UPID:pve-01:1", type="vzdump", id="174")
CHANGES = (
    PendingChange(key="hostpci1", now="0000:01:00.1", then=None),
    PendingChange(key="memory", now="16384", then="32768"),
    PendingChange(key="net1", now=None, then="virtio"),
)


def guests(**of_174):
    return {"node-174": guest_facts(**of_174)}


def listing(*entries):
    return {GUESTS: entries}


VM = entry(181, kind="vm")
NEIGHBOUR = entry(9, name="jellyfin", memory_bytes=150 * GB)
ZFS = {ARC: Arc(size_bytes=100 * GB, least_bytes=16 * GB)}
ALMOST_GONE = {MEMORY: memory(8, total_bytes=512 * GB)}

FAILING = [
    ("memory-low", sight({MEMORY: memory(20, total_bytes=512 * GB)}), WARNING, "20 GB of 512 GB available: 3.9 %, and 5 % have to be left"),
    ("memory-low", sight(ALMOST_GONE), CRITICAL, "8 GB of 512 GB available: 1.6 %, and 2 % have to be left"),
    ("memory-low", sight(ALMOST_GONE | {ARC: Arc(size_bytes=4 * GB, least_bytes=2 * GB)}), CRITICAL, "available and 2 GB that ZFS's cache gives back"),
    ("guest-unexpected", sight(listing(VM)), CRITICAL, "node-174: the cluster has no guest 174"),
    ("guest-unexpected", sight(listing(VM, entry(174, node="pve-02"))), CRITICAL, "node-174: guest 174 is on pve-02, the inventory says pve-01"),
    ("guest-unexpected", sight(listing(VM, entry(174, kind="vm"))), CRITICAL, "node-174: guest 174 is of kind vm, not lxc"),
    ("guest-unexpected", sight(guests=guests(guest=state(status="stopped"))), CRITICAL, "node-174: guest 174 is stopped"),
    ("guest-unexpected", sight(guests=guests(guest=state(status="stopped", config={"onboot": "1"}))), CRITICAL, "stopped, although it is set to start with the host"),
    ("lock-stale", sight(guests=guests(guest=state(lock="backup"))), WARNING, "node-174: guest 174 is locked (backup), and no task runs that would hold it"),
    ("ha-state", sight(listing(VM, entry(174, ha_state="error"))), CRITICAL, "guest 174 (node-174) is in HA state error: it failed to start or stop"),
    ("ha-state", sight(listing(VM, entry(174, ha_state="fence", node="pve-02"))), CRITICAL, "its host is being fenced"),
    ("ha-state", sight(listing(VM, entry(174), replace(NEIGHBOUR, ha_state="error"))), CRITICAL, "guest 9 (jellyfin)"),
    ("pending-changes", sight(guests=guests(pending=CHANGES)), WARNING, "the next start of guest 174 changes hostpci1 (now 0000:01:00.1, removed), memory (now 16384, then 32768), net1 (now not set, then virtio)"),
    ("memory-promised", sight(listing(VM, entry(174), NEIGHBOUR)), WARNING, "550 GB are promised to 3 running guests, 38 GB more than the host's 512 GB: 174 (node-174) 200 GB, 181 (node-181) 200 GB, 9 (jellyfin) 150 GB"),
    ("memory-promised", sight(listing(VM, replace(entry(174), memory_bytes=300 * GB)) | ZFS), WARNING, "500 GB are promised to 2 running guests and at least 16 GB to ZFS's cache, 4 GB more"),
    ("memory-promised", sight(listing(VM, replace(entry(174), memory_bytes=None))), UNKNOWN, "the cluster's list tells no memory limit of 174 (node-174)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "seen", "severity", "said"), FAILING)
def test_a_failing_host_is_said_so(name, seen, severity, said):
    (finding,) = CHECKS[name].judge(seen)
    assert (finding.host, finding.check, finding.severity) == ("pve-01", name, severity)
    assert said in finding.evidence
    assert finding.next.startswith("fleetops run pve-01 -- ")
    assert 2 <= len(finding.subject.split()) <= 4


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("seen", [sight(), sight(ZFS), sight({FAILED_UNITS: NO_SYSTEMD})])
def test_a_healthy_host_says_nothing(name, seen):
    assert CHECKS[name].judge(seen) == []


NEEDS = [
    ("rebooted", IDENTITY), ("clock-skew", CLOCK), ("clock-skew", ANSWERED), ("slow-to-answer", ANSWERED),
    ("swap-used", MEMORY), ("failed-units", FAILED_UNITS), ("disk-full", FILE_SYSTEMS), ("inodes-full", FILE_SYSTEMS),
    ("memory-low", MEMORY), ("memory-low", ARC), ("oom-killed", KERNEL_LOG), ("hung-tasks", KERNEL_LOG),
    ("passthrough-warnings", KERNEL_LOG), ("guest-unexpected", GUESTS), ("guest-unexpected", IDENTITY),
    ("ha-state", GUESTS), ("ha-state", IDENTITY), ("memory-promised", GUESTS), ("memory-promised", MEMORY),
    ("memory-promised", ARC), ("gpu-configured-twice", CLAIMS), ("gpu-configured-twice", GUESTS),
]  # fmt: skip
OF_GUESTS = [
    ("guest-unexpected", "guest"), ("lock-stale", "guest"), ("pending-changes", "pending"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "key"), NEEDS)
def test_a_missing_fact_is_unknown_and_never_healthy(name, key):
    (finding,) = CHECKS[name].judge(sight({key: missing()}))
    assert (finding.severity, finding.check) == (UNKNOWN, name)
    assert finding.evidence == f"{key.name.replace('-', ' ')}: timed out: no answer in 10 s"


@pytest.mark.parametrize(("name", "key"), OF_GUESTS)
def test_what_was_not_read_of_a_guest_is_unknown(name, key):
    (finding,) = CHECKS[name].judge(sight(guests=guests(**{key: missing()})))
    assert (finding.severity, finding.evidence) == (
        UNKNOWN,
        f"{key} of node-174: timed out: no answer in 10 s",
    )
    assert CHECKS[name].judge(sight(guests={"node-174": Facts("pve-01", NOW)}))[0].severity is UNKNOWN


def test_every_check_lacks_a_fact_in_some_test():
    by_gap = {"unreachable", "no-banner"}
    assert {name for name, _ in (*NEEDS, *OF_GUESTS)} | by_gap == set(CHECKS)


def test_of_one_check_no_two_findings_share_a_subject():
    """By it a sweep follows each of them."""
    bad = {"tasks": (), "pending": CHANGES}
    both = {
        "node-174": guest_facts(guest=state(lock="backup", status="stopped"), **bad),
        "node-181": guest_facts(guest=state(181, kind="vm", lock="backup", status="stopped"), **bad),
    }
    errors = listing(replace(VM, ha_state="error"), entry(174, ha_state="error"))
    unread = {name: guest_facts(guest=missing(), pending=missing()) for name in both}
    for seen in (sight(errors, both), sight(guests=unread)):
        told = [(one.check, one.subject) for one in judge_hypervisor(seen)]
        assert len(told) >= 6
        assert len(set(told)) == len(told)


# Silence.


def silent(why, reason):
    gap = Missing(Gap.UNREACHABLE, why, reason=reason)
    seen = sight()
    return replace(seen, facts=Facts("pve-01", NOW, dict.fromkeys(seen.facts.readings, gap)))


def test_a_host_that_does_not_answer_is_said_so_once_and_is_unknown():
    (finding,) = judge_hypervisor(silent("pve-01: no answer within 10 s", "timeout"))
    assert (finding.check, finding.severity, finding.subject) == ("unreachable", UNKNOWN, "unreachable")
    assert finding.evidence == "pve-01: no answer within 10 s; its nodes: node-174, node-181"


def test_a_host_that_accepts_and_says_nothing_is_not_down():
    (finding,) = judge_hypervisor(silent("it sent no SSH banner within 10 s", "no-banner"))
    assert (finding.check, finding.severity) == ("no-banner", CRITICAL)
    assert "it is not down: TCP answers" in finding.evidence


def test_a_host_of_which_nothing_was_read_is_unreachable():
    (finding,) = judge_hypervisor(replace(sight(), facts=Facts("pve-01", NOW)))
    assert finding.check == "unreachable"


# Memory.


def test_what_zfs_gives_back_counts_as_available():
    low = {MEMORY: memory(8, total_bytes=512 * GB), ARC: Arc(size_bytes=64 * GIB, least_bytes=16 * GIB)}
    assert CHECKS["memory-low"].judge(sight(low)) == []


def test_only_what_runs_here_is_promised_memory():
    others = (replace(NEIGHBOUR, status="stopped"), entry(10, node="pve-02", memory_bytes=500 * GB))
    assert CHECKS["memory-promised"].judge(sight(listing(VM, entry(174), *others))) == []


def test_a_guest_without_a_limit_does_not_hide_that_the_others_have_too_much():
    unlimited = replace(entry(10), memory_bytes=None)
    (finding,) = CHECKS["memory-promised"].judge(sight(listing(VM, entry(174), NEIGHBOUR, unlimited)))
    assert finding.severity is WARNING


def test_a_nodes_own_configuration_tells_a_limit_that_the_list_lacks():
    configured = guests(guest=state(config={"memory": "204800"}))
    unlisted = listing(VM, replace(entry(174), memory_bytes=None))
    assert CHECKS["memory-promised"].judge(sight(unlisted, configured)) == []
    (finding,) = CHECKS["memory-promised"].judge(
        sight(unlisted | {MEMORY: memory(300)}, guests(guest=state(config={"memory": "409600"})))
    )
    assert "174 (node-174) 429 GB" in finding.evidence


def test_a_long_host_name_is_cut_to_what_the_cluster_calls_it():
    long = {IDENTITY: replace(IDENTITY_OF_HOST, hostname="pve-01.example.org")}
    assert CHECKS["guest-unexpected"].judge(sight(long)) == []


# Locks.


@pytest.mark.parametrize(
    "told", [{"tasks": (RUNS,)}, {"guest": state(lock="suspended")}, {"guest": state()}], ids=["task", "suspended", "none"]
)  # fmt: skip
def test_a_lock_that_a_task_holds_or_that_needs_none_is_not_stale(told):
    assert CHECKS["lock-stale"].judge(sight(guests=guests(**{"guest": state(lock="backup"), **told}))) == []


def test_a_lock_whose_task_is_not_known_is_unknown():
    (finding,) = CHECKS["lock-stale"].judge(sight(guests=guests(guest=state(lock="backup"), tasks=missing())))
    assert finding.severity is UNKNOWN


def test_how_long_a_lock_has_been_seen_is_remembered():
    locked = guests(guest=state(lock="backup"))
    first = lock_stale.remember(sight(guests=locked))
    assert first.words["lock-174"] == f"backup {NOW:.0f}"
    past = replace(SWEPT, words={"lock-174": f"backup {NOW - 7200:.0f}"})
    (finding,) = CHECKS["lock-stale"].judge(sight(guests=locked, past=past))
    assert finding.evidence.endswith("no task runs that would hold it; seen for 2 h")
    assert (
        lock_stale.remember(sight(guests=locked, past=past)).words["lock-174"] == f"backup {NOW - 7200:.0f}"
    )


@pytest.mark.parametrize(("lock", "kept"), [("", ""), ("snapshot", f"snapshot {NOW:.0f}")])
def test_another_lock_or_none_starts_anew(lock, kept):
    past = replace(SWEPT, words={"lock-174": f"backup {NOW - 7200:.0f}"})
    seen = sight(guests=guests(guest=state(lock=lock)), past=past)
    assert lock_stale.remember(seen).words["lock-174"] == kept
    assert all("seen for" not in one.evidence for one in CHECKS["lock-stale"].judge(seen))


def test_a_guest_that_was_not_read_keeps_what_was_remembered():
    assert "lock-174" not in lock_stale.remember(sight(guests=guests(guest=missing()))).words


def test_a_guest_that_is_not_here_is_told_once():
    gone = missing(Gap.ABSENT, "Configuration file 'nodes/pve-01/lxc/174.conf' does not exist")
    seen = sight(listing(VM, entry(174, node="pve-02")), guests(guest=gone, tasks=(), pending=gone))
    (finding,) = judge_hypervisor(seen)
    assert (finding.check, finding.subject) == ("guest-unexpected", "guest 174 elsewhere")
    (finding,) = judge_hypervisor(sight(guests=guests(guest=gone, pending=gone)))
    assert (finding.check, finding.severity) == ("guest-unexpected", UNKNOWN)


# High availability.


@pytest.mark.parametrize("ha_state", ["", "started", "stopped", "migrate", "ignored", "freeze"])
def test_what_high_availability_does_in_its_course_is_let_pass(ha_state):
    assert CHECKS["ha-state"].judge(sight(listing(VM, entry(174, ha_state=ha_state)))) == []


def test_another_hosts_guest_is_that_hosts_affair():
    elsewhere = entry(10, node="pve-02", ha_state="error")
    assert CHECKS["ha-state"].judge(sight(listing(VM, entry(174), elsewhere))) == []


def test_all_findings_of_a_host_come_worst_first():
    seen = sight(ALMOST_GONE | {CLAIMS: missing()}, guests(pending=CHANGES))
    assert [one.severity for one in judge_hypervisor(seen)] == [CRITICAL, UNKNOWN, WARNING]
