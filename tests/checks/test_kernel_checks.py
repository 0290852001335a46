"""OOM kills and hung tasks: whose they are, since when they count, and when a quiet log says nothing."""

from dataclasses import replace

import pytest
from machine_scenes import NOW, SWEPT, UP_S, bare, guest_facts, log, sight, state, swept
from node_scenes import NODE, missing, process, service_processes, zombie

from fleetops.checks import all_checks, hypervisor_checks
from fleetops.checks.host import hung_tasks as host_hung
from fleetops.checks.host import oom_killed as host_oom
from fleetops.checks.hypervisor import hung_tasks, oom_killed, passthrough_warnings
from fleetops.model.fact import Facts, Gap
from fleetops.model.finding import Severity
from fleetops.model.fleet import Guest
from fleetops.model.guest import GUEST, GuestProcess
from fleetops.model.kernel import KERNEL_LOG
from fleetops.model.machine import CLOCK, PROCESSES, Clock
from fleetops.model.past import Past

CHECKS = {check.name: check for check in all_checks()}
OF_HYPERVISORS = {check.name: check for check in hypervisor_checks()}
CRITICAL, UNKNOWN, WARNING = Severity.CRITICAL, Severity.UNKNOWN, Severity.WARNING

# As recorded: tests/facts/kernel_log.
GLOBAL = (
    "pool invoked oom-killer: gfp_mask=0x6200ca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0",
    "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/user.slice/user-1000.slice/user@1000.service,task=perl,pid=1440763,uid=1000",
    "Out of memory: Killed process 1440763 (perl) total-vm:87033376kB, anon-rss:60356340kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:169956kB oom_score_adj:0",
)
OF_174 = (
    "sglang::schedul invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=ns,mems_allowed=0,oom_memcg=/lxc/174,task_memcg=/lxc/174/ns,task=sglang::schedul,pid=32413,uid=0",
    "Memory cgroup out of memory: Killed process 32413 (sglang::schedul) total-vm:416596kB, anon-rss:403712kB, file-rss:6024kB, shmem-rss:0kB, UID:0 pgtables:852kB oom_score_adj:0",
)
PLAIN_LXC = tuple(line.replace("/lxc/174", "/lxc.payload.174") for line in OF_174)
OF_1174 = tuple(line.replace("/lxc/174", "/lxc/1174") for line in OF_174)
OF_VM = (
    "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/qemu.slice/181.scope,task=kvm,pid=77,uid=0",
    "Out of memory: Killed process 77 (kvm) total-vm:540000000kB, anon-rss:440000000kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0",
)
OLD = (
    "Task in /lxc/174/ns killed as a result of limit of /lxc/174",
    "Memory cgroup out of memory: Kill process 4132 (python3) score 1000 or sacrifice child",
    "Killed process 4132 (python3) total-vm:1kB, anon-rss:1024kB, file-rss:0kB, shmem-rss:0kB",
)
IN_GROUP = (
    OF_174[1],
    OF_174[2],
    "Tasks in /lxc/174/ns are going to be killed due to memory.oom.group set",
    "Memory cgroup out of memory: Killed process 32500 (python3) total-vm:1kB, anon-rss:2048kB, file-rss:0kB, shmem-rss:0kB, UID:0 pgtables:1kB oom_score_adj:0",
)
BLOCKED = "INFO: task cache_mgr_event:620917 blocked for more than 120 seconds."
LONGER = "INFO: task cache_mgr_event:620917 blocked for more than 241 seconds."


def lines(texts, ago=120.0, **fields):
    return {KERNEL_LOG: log(*((ago, text) for text in texts), **fields)}


def oom(observation):
    return CHECKS["oom-killed"].judge(observation)


def hung(observation):
    return CHECKS["hung-tasks"].judge(observation)


# OOM kills of a node.


@pytest.mark.parametrize("texts", [OF_174, PLAIN_LXC], ids=["Proxmox", "plain LXC"])
def test_a_rank_that_ran_into_its_containers_limit_is_critical(texts):
    (finding,) = oom(swept(*service_processes(), on_hypervisor=lines(texts)))
    assert (finding.severity, finding.subject) == (CRITICAL, "OOM kill")
    assert (
        "1 process for want of memory since the last look 5 min ago: sglang::schedul (pid 32413 in /lxc"
        in (finding.evidence)
    )
    assert "holding 0.4 GB" in finding.evidence
    assert finding.evidence.endswith("the last one 2 min ago; pid 32413 of a service")
    assert finding.next == "fleetops recover node-174 --dry-run"


@pytest.mark.parametrize("texts", [GLOBAL, OF_1174, OF_VM], ids=["the host's own", "of 1174", "a VM"])
def test_another_guests_kill_is_not_the_nodes(texts):
    assert oom(swept(*service_processes(), on_hypervisor=lines(texts))) == []


def test_a_machine_of_its_own_counts_every_kill():
    (finding,) = oom(bare(*service_processes(), facts=lines(GLOBAL)))
    assert finding.severity is WARNING
    assert (
        "perl (pid 1440763 in /user.slice/user-1000.slice/user@1000.service) holding 61.8 GB"
        in finding.evidence
    )
    assert "the machine being out of memory" in finding.evidence
    assert finding.next == "fleetops probe node-174"


def test_a_vm_has_a_kernel_of_its_own():
    node = replace(NODE, guest=Guest(kind="vm", id=174))
    assert len(oom(swept(node=node, facts=lines(GLOBAL)))) == 1
    assert oom(swept(node=node, on_hypervisor=lines(OF_174))) == []


def test_a_zombie_of_a_service_is_known_by_its_pid_where_pids_are_the_same():
    helper = process(4160, "python3", ppid=4121, pgid=4121, sid=4121)
    killed = (GLOBAL[1].replace("1440763", "4160").replace("perl", "python3"),)
    (finding,) = oom(bare(*service_processes(), zombie(helper), facts=lines(killed)))
    assert finding.severity is CRITICAL
    (finding,) = oom(bare(facts=lines(killed)))
    assert finding.severity is WARNING


@pytest.mark.parametrize(
    ("texts", "pids"), [(OLD, ["4132"]), (IN_GROUP, ["32413", "32500"])], ids=["old kernel", "group"]
)
def test_other_wordings_of_the_kernel_are_known(texts, pids):
    (finding,) = oom(swept(on_hypervisor=lines(texts)))
    assert all(f"(pid {pid} in /lxc/174/ns)" in finding.evidence for pid in pids)


def test_an_old_kernel_that_names_only_the_victim_was_out_of_memory_itself():
    (finding,) = oom(bare(facts=lines([GLOBAL[2]])))
    assert "perl (pid 1440763) holding 61.8 GB, the machine being out of memory" in finding.evidence


def test_a_host_out_of_memory_that_ends_a_containers_process_is_told_of_both():
    texts = [line.replace("/qemu.slice/181.scope", "/lxc/174/ns") for line in OF_VM]
    (finding,) = oom(swept(on_hypervisor=lines(texts)))
    assert "kvm (pid 77 in /lxc/174/ns) holding 451 GB, the machine being out of memory" in finding.evidence
    (finding,) = OF_HYPERVISORS["oom-killed"].judge(sight(lines(texts)))
    assert finding.severity is CRITICAL
    assert "of guest 174 (node-174)" in finding.evidence


@pytest.mark.parametrize("comm", ["a,pid=1,uid=0", "(sd-pam)", "x) (y", "Killed process 1 (x)"])
def test_a_victims_name_is_data(comm):
    texts = [line.replace("sglang::schedul", comm) for line in OF_174[1:]]
    (finding,) = oom(swept(on_hypervisor=lines(texts)))
    assert "killed 1 process" in finding.evidence
    assert f"{comm} (pid 32413" in finding.evidence


# Since when.


def test_what_the_last_sweep_has_seen_is_not_told_again():
    assert oom(swept(on_hypervisor=lines(OF_174, ago=400))) == []


def test_the_first_look_tells_of_the_last_hours():
    (finding,) = oom(swept(on_hypervisor=lines(OF_174, ago=3 * 3600), past=Past()))
    assert "in the last 6 h" in finding.evidence
    assert oom(swept(on_hypervisor=lines(OF_174, ago=7 * 3600), past=Past())) == []


def test_lines_are_dated_by_the_hosts_own_clock():
    """The host is an hour behind: what its kernel dates 58 minutes before now was two minutes ago."""
    behind = {CLOCK: Clock(epoch_s=NOW - 3600)}
    (finding,) = oom(swept(on_hypervisor=behind | lines(OF_174, ago=3600 + 120)))
    assert "the last one 2 min ago" in finding.evidence
    assert oom(swept(on_hypervisor=behind | lines(OF_174, ago=3600 + 400))) == []


def test_a_kernel_that_dates_its_buffer_by_a_drifting_clock_is_given_some_room():
    assert oom(swept(on_hypervisor=lines(OF_174, ago=500))) == []
    assert len(oom(swept(on_hypervisor=lines(OF_174, ago=500, source="ring")))) == 1


@pytest.mark.parametrize("check", [host_oom, host_hung])
def test_lines_count_from_when_the_log_was_last_read(check):
    """The host was silent for two sweeps: what its kernel said meanwhile was seen by none of them."""
    seen = swept(on_hypervisor=lines(OF_174, ago=1000))
    assert check.remember(seen).words == {"kernel-log-read-at": f"{NOW:.3f}"}
    silent = replace(seen, hypervisor_facts=Facts("pve-01", NOW))
    assert check.remember(silent).words == {}
    past = replace(SWEPT, words={"kernel-log-read-at": f"{NOW - 1200:.3f}"})
    (finding,) = oom(replace(seen, past=past))
    assert "since the last look 20 min ago" in finding.evidence


@pytest.mark.parametrize("check", [oom_killed, hung_tasks, passthrough_warnings])
def test_a_proxmox_hosts_log_is_remembered_as_read(check):
    assert check.remember(sight()).words == {"kernel-log-read-at": f"{NOW:.3f}"}
    assert check.remember(sight({KERNEL_LOG: missing()})).words == {}


@pytest.mark.parametrize("name", ["oom-killed", "hung-tasks"])
@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"begins_at": NOW - 60}, "it has wrapped, what it has begins 1 min ago"),
        ({"begins_at": None}, "somebody has cleared it"),
        ({"cut": True, "begins_at": NOW - 100}, "it is cut, what is kept of it begins 1 min 40 s ago"),
    ],
    ids=["wrapped", "cleared", "cut"],
)
def test_a_log_that_may_lack_something_is_unknown(name, fields, why):
    seen = {KERNEL_LOG: log((100.0, "NVRM: x"), source="ring", **fields)}
    (finding,) = CHECKS[name].judge(swept(on_hypervisor=seen))
    assert (finding.severity, finding.subject) == (UNKNOWN, "kernel log incomplete")
    assert why in finding.evidence
    (finding,) = OF_HYPERVISORS[name].judge(sight(seen))
    assert finding.severity is UNKNOWN


def test_a_log_that_begins_with_the_boot_lacks_nothing_however_young_it_is():
    rebooted = {KERNEL_LOG: log(begins_at=NOW - 60, booted_at=NOW - 61)}
    assert oom(swept(on_hypervisor=rebooted)) == []


def test_a_wrapped_log_is_enough_at_the_first_look():
    wrapped = {KERNEL_LOG: log(begins_at=NOW - 60, source="ring")}
    assert oom(swept(on_hypervisor=wrapped, past=Past())) == []


# Hung tasks of a node.


def test_a_task_that_still_hangs_is_critical_and_told_once_however_often_the_kernel_says_so():
    stuck = process(620917, "cache_mgr_event", state="D")
    (finding,) = hung(bare(stuck, facts=lines([BLOCKED, LONGER])))
    assert (finding.severity, finding.subject) == (CRITICAL, "tasks hang")
    assert (
        "1 task blocked since the last look 5 min ago: cache_mgr_event (pid 620917) for more than 241 s"
        in (finding.evidence)
    )
    assert finding.evidence.endswith("1 is still in D state")


def test_a_task_that_hung_for_a_while_is_a_warning():
    (finding,) = hung(bare(facts=lines([BLOCKED])))
    assert finding.severity is WARNING
    assert finding.evidence.endswith("none is in D state any more")


def test_of_a_shared_kernels_tasks_the_containers_own_are_told():
    seen = lines([BLOCKED])
    assert hung(swept(on_hypervisor=seen)) == []
    left = {GUEST: state(left=(GuestProcess(pid=620917, state="D", comm="cache_mgr_event"),))}
    (finding,) = hung(swept(on_hypervisor=seen | left))
    assert finding.severity is CRITICAL
    (finding,) = hung(swept(process(41, "cache_mgr_event", state="D"), on_hypervisor=seen))
    assert finding.severity is CRITICAL


def test_a_silent_containers_hung_task_is_told_by_its_hypervisor():
    left = {GUEST: state(left=(GuestProcess(pid=620917, state="D", comm="cache_mgr_event"),))}
    silent = {PROCESSES: missing(Gap.UNREACHABLE, "no answer")}
    (finding,) = hung(swept(facts=silent, on_hypervisor=lines([BLOCKED]) | left))
    assert finding.severity is CRITICAL


def test_whose_a_task_is_or_whether_it_still_hangs_may_not_be_known():
    unread = {PROCESSES: missing()}
    (finding,) = hung(swept(facts=unread, on_hypervisor=lines([BLOCKED]) | {GUEST: missing()}))
    assert (finding.severity, finding.subject) == (UNKNOWN, "processes not known")
    (finding,) = hung(bare(facts=unread | lines([BLOCKED])))
    assert finding.severity is WARNING
    assert finding.evidence.endswith("whether one is still in D state is not known")


def test_a_task_that_hung_before_the_last_sweep_is_not_told_again():
    assert hung(bare(facts=lines([BLOCKED], ago=400))) == []


# Of a Proxmox host.


def test_a_host_out_of_memory_that_ends_a_vm_is_critical():
    (finding,) = OF_HYPERVISORS["oom-killed"].judge(sight(lines(OF_VM)))
    assert (finding.host, finding.severity) == ("pve-01", CRITICAL)
    assert "kvm (pid 77 in /qemu.slice/181.scope) of guest 181 (node-181) holding 451 GB" in finding.evidence


def test_victims_of_one_name_and_place_are_told_together():
    both = [text.replace("32413", pid) for pid in ("32413", "32414") for text in OF_174]
    (finding,) = oom(swept(*service_processes(), on_hypervisor=lines(both)))
    assert "2 processes for want of memory" in finding.evidence
    assert "sglang::schedul (pids 32413, 32414 in /lxc" in finding.evidence
    assert "holding 0.8 GB" in finding.evidence
    assert finding.evidence.endswith("; all of them of a service")


def test_what_ran_into_its_own_containers_limit_is_the_nodes_to_tell():
    assert OF_HYPERVISORS["oom-killed"].judge(sight(lines(OF_174))) == []
    (finding,) = OF_HYPERVISORS["oom-killed"].judge(sight(lines(OF_1174)))
    assert finding.severity is WARNING
    assert "of guest 1174" in finding.evidence


def test_a_hosts_hung_tasks_name_the_node_and_say_when_the_kernel_says_no_more():
    left = state(left=(GuestProcess(pid=620917, state="D", comm="cache_mgr_event"),))
    suppressed = log(
        (9000.0, "Future hung task reports are suppressed, see sysctl kernel.hung_task_warnings"),
        (60.0, BLOCKED),
    )
    seen = sight({KERNEL_LOG: suppressed}, {"node-174": guest_facts(guest=left)})
    (finding,) = OF_HYPERVISORS["hung-tasks"].judge(seen)
    assert finding.severity is WARNING
    assert "cache_mgr_event (pid 620917) for more than 120 s of node-174" in finding.evidence
    assert finding.evidence.endswith("the kernel reports no further ones until it boots")


def test_a_quiet_log_and_an_old_one_say_nothing():
    assert UP_S > 400 > NOW - (SWEPT.swept_at or 0)
    for name in ("oom-killed", "hung-tasks"):
        assert OF_HYPERVISORS[name].judge(sight()) == []
        assert OF_HYPERVISORS[name].judge(sight(lines([*OF_VM, BLOCKED], ago=400))) == []
