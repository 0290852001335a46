"""The screen: what it says of a node, piped and narrow, and what it never says twice."""

import json
from collections.abc import Callable
from dataclasses import replace

from node_scenes import launcher, observe, process, rank, zombie

from fleetops.checks import judge
from fleetops.fleet.summary import summarise
from fleetops.model.fact import Gap, Missing
from fleetops.model.finding import Finding, Observation, Severity
from fleetops.model.fleet import Flag, Guest
from fleetops.model.gpu import GPUS, Gpus, LostGpu
from fleetops.model.guest import GUEST, TASKS, GuestState, Task
from fleetops.model.machine import CGROUP, PROCESSES, CgroupMemory
from fleetops.model.report import Report
from fleetops.render.probe import probe_json, probe_screen

Changed = Callable[..., Observation]


def report(observation: Observation, *findings: Finding) -> Report:
    return Report(
        node=observation.node,
        observation=observation,
        summary=summarise(observation),
        findings=findings,
        engine_title="SGLang",
    )


def screen(*reports: Report, width: int = 160) -> str:
    return probe_screen(reports, width).plain


RANKS_DEAD = Finding(
    host="node-174",
    check="ranks",
    severity=Severity.CRITICAL,
    subject="ranks dead",
    evidence="7 of 8",
    next="fleetops recover node-174 --dry-run",
)


def test_the_incident_as_an_operator_reads_it(wedged: Observation) -> None:
    assert screen(report(wedged)).splitlines() == [
        "node-174   SGLang 0.5.9, wedged                   guest 174 (lxc) on pve-01, running, up 41 days",
        "",
        "  service     pid 4121, up 40 min                 hicache-size 300 (profile: 48)",
        "  memory      439 of 449 GB gone, 9.6 available   403 GB in no process's RSS (pinned), 12 GB shared memory",
        "  GPUs        8 of 8, 736 of 768 GiB held         by 2 zombie leaders, 1 rank in D",
        "  ranks       5 zombies                           their parent 4121 does not reap them: kill the parent",
        "              2 zombie leaders, threads alive     memory, GPUs and port still held; ps shows 0 (4135-4136)",
        "              1 in D                              waits inside the kernel; SIGKILL acts only when it returns (4137)",
        "  port        30000 listens, no owner             no process that can be seen here has it open",
        "  leftovers   4 segments, 12 GB                   shared memory of dead owners that nobody has mapped",
        "  pve-01      no lock, no running task            sees 3 processes of this guest on its GPUs",
    ]


def test_the_command_to_type_next_stands_last_and_once(wedged: Observation) -> None:
    same_remedy = replace(RANKS_DEAD, subject="memory gone")
    lines = screen(report(wedged, RANKS_DEAD, same_remedy)).splitlines()
    assert lines[-2:] == ["", "  fleetops recover node-174 --dry-run"]
    assert sum("--dry-run" in line for line in lines) == 1


def test_nodes_that_look_the_same_are_said_once(idle: Observation) -> None:
    nodes = [
        replace(idle, node=replace(idle.node, name=f"node-{number}", guest=Guest(kind="lxc", id=number)))
        for number in (171, 172, 173)
    ]
    shown = screen(*(report(node) for node in nodes))
    assert shown.splitlines()[0].startswith("node-[171-173]   SGLang 0.5.9, idle")
    assert shown.count("memory") == 1


def test_a_narrow_terminal_gets_every_word_within_its_width(wedged: Observation) -> None:
    narrow = screen(report(wedged, RANKS_DEAD), width=80)
    assert max(len(line) for line in narrow.splitlines()) <= 80
    assert " ".join(narrow.split()).count("SIGKILL acts only when it returns (4137)") == 1


def test_what_could_not_be_read_is_said_with_its_reason(idle: Observation, changed: Changed) -> None:
    unread = changed(idle, {PROCESSES: Missing(Gap.TIMED_OUT, "no answer in 10 s")})
    shown = screen(report(unread))
    assert "node-174   SGLang 0.5.9, unknown" in shown
    assert "unknown     process table" in shown
    assert "timed out: no answer in 10 s" in shown


def test_a_node_without_an_answer_is_unknown_not_down(idle: Observation) -> None:
    silent = Report(node=idle.node, error="no answer from 10.1.230.174 in 5 s", hint="fleetops probe @rack-a")
    lines = screen(silent).splitlines()
    assert lines[0].split()[:2] == ["node-174", "unknown"]
    assert "no answer from 10.1.230.174 in 5 s" in lines[2]
    assert lines[-1] == "  fleetops probe @rack-a"


def test_the_hypervisors_lock_and_task_are_shown(idle: Observation, changed: Changed) -> None:
    locked = changed(
        idle,
        {},
        outside={
            GUEST: GuestState(kind="lxc", id=174, status="running", lock="backup"),
            TASKS: (Task(upid="UPID:pve-01", type="vzdump", id="174", user="root@pam"),),
        },
    )
    assert "pve-01      guest locked: backup, vzdump running   vzdump by root@pam" in screen(report(locked))


def test_what_a_host_sends_cannot_reach_the_terminal_raw(idle: Observation, changed: Changed) -> None:
    evil = changed(idle, {PROCESSES: Missing(Gap.UNPARSABLE, "\x1b]0;owned\x07")})
    assert "\x1b" not in screen(report(evil))


def test_json_carries_facts_gaps_and_findings(wedged: Observation, changed: Changed) -> None:
    gap = Missing(Gap.TIMED_OUT, "no answer in 10 s")
    body = probe_json([report(changed(wedged, {GUEST: gap}), RANKS_DEAD)])
    (host,) = body["hosts"]
    assert body["schema"] == "fleetops.probe/1"
    assert (host["host"], host["verdict"]) == ("node-174", "wedged")
    assert host["facts"]["memory"]["total_bytes"] == 449 * 10**9
    assert host["facts"]["guest"] == {"missing": "timed out", "why": "no answer in 10 s"}
    assert body["findings"] == [
        {
            "host": "node-174",
            "check": "ranks",
            "severity": "critical",
            "subject": "ranks dead",
            "evidence": "7 of 8",
            "next": "fleetops recover node-174 --dry-run",
        }
    ]


def test_json_of_a_silent_node_says_why(idle: Observation) -> None:
    body = probe_json([Report(node=idle.node, error="no answer", hint="look")])
    assert body["hosts"] == [{"host": "node-174", "verdict": "unknown", "error": "no answer", "hint": "look"}]


def test_a_finding_that_a_row_tells_already_is_not_said_again(wedged: Observation) -> None:
    told = replace(RANKS_DEAD, check="ranks-dead", evidence="said elsewhere")
    assert "said elsewhere" not in screen(report(wedged, told))


def test_a_finding_of_a_check_that_the_screen_does_not_know_gets_a_row(wedged: Observation) -> None:
    assert "  critical    ranks dead" in screen(report(wedged, RANKS_DEAD))


def test_a_label_has_the_colour_of_the_worst_found_there(wedged: Observation) -> None:
    told = replace(RANKS_DEAD, check="memory-low")
    milder = replace(RANKS_DEAD, check="memory-missing", severity=Severity.WARNING)
    drawn = probe_screen([report(wedged, told, milder)], 160)
    styles = {drawn.plain[span.start : span.end]: str(span.style) for span in drawn.spans}
    assert styles["memory"] == "bold red"


def test_a_larger_remedy_stands_for_the_smaller_ones(wedged: Observation) -> None:
    smaller = replace(RANKS_DEAD, severity=Severity.WARNING, next="fleetops kill node-174 --dry-run")
    again = replace(RANKS_DEAD, next="fleetops probe node-174")
    shown = screen(report(wedged, RANKS_DEAD, again, smaller))
    assert "fleetops recover node-174 --dry-run" in shown
    assert "fleetops kill" not in shown
    assert "fleetops probe" not in shown


def test_a_flag_that_looks_secret_is_never_shown(wedged: Observation, changed: Changed) -> None:
    (one,) = wedged.services
    assert wedged.profile is not None
    keyed = replace(
        changed(wedged, {}, services=(replace(one, flags={**one.flags, "api_key": "sk-in-force"}),)),
        profile=replace(wedged.profile, flags=(Flag(name="api_key", value="sk-profile"),)),
    )
    shown = screen(report(keyed)) + json.dumps(probe_json([report(keyed)]))
    assert "sk-in-force" not in shown
    assert "sk-profile" not in shown


def test_a_service_of_another_engine_than_the_nodes_is_named_as_what_it_is() -> None:
    server = process(50, "vllm", "vllm", "serve", "/models/small", "--port", "8000")
    core = process(60, "VLLM::EngineCor", "VLLM::EngineCore", ppid=50, pgid=50, sid=50)
    lines = screen(replace(report(observe(server, core)), engine_title="vLLM")).splitlines()
    assert lines[0].startswith("node-174   vLLM, ")
    assert "not of profile hicache48, which is for sglang" in lines[2]


def test_of_orphans_nobody_knows_how_many_ranks_there_were() -> None:
    left = [
        process(60 + number, "VLLM::Worker_TP", f"VLLM::Worker_TP{number}", pgid=50, sid=50)
        for number in (0, 1)
    ]
    assert "ranks       2 alive" in screen(report(observe(*left)))


PERSON = replace(RANKS_DEAD, next="reboot pve-01, then fleetops recover node-174")
LOST = Gpus(driver_version="", gpus=(), lost=(LostGpu(bdf="0000:01:00.0", said="lost"),), listed=7)


def test_another_machine_is_said_and_nothing_that_it_holds(idle: Observation) -> None:
    another = replace(idle, node=replace(idle.node, machine_id="0bad"))
    shown = screen(report(another, *judge(another)))
    assert shown.splitlines()[0].split("   ")[1] == "another machine answers"
    assert "recorded is 0bad" in shown
    assert "449 GB" not in shown
    assert "SGLang" not in shown
    assert "recover" not in shown
    assert shown.splitlines()[-1].strip() == "fleetops run node-174 -- hostname"


def test_what_a_person_does_first_stands_alone(wedged: Observation) -> None:
    shown = screen(report(wedged, RANKS_DEAD, PERSON))
    assert "recover node-174 --dry-run" not in shown
    assert shown.splitlines()[-1].strip() == PERSON.next


def test_of_a_lost_gpu_nothing_is_said_to_be_free(idle: Observation, changed: Changed) -> None:
    lost = changed(idle, {GPUS: LOST})
    shown = screen(report(lost, *judge(lost)))
    assert "GPU lost" in shown.splitlines()[0]
    assert "0 of 8 told of, memory unknown" in shown
    assert "none held" not in shown
    assert shown.splitlines()[-1].strip() == "reboot or power-cycle pve-01, then fleetops recover node-174"


def test_what_starts_the_service_again_is_shown_before_its_parent_is_to_be_killed() -> None:
    loop = process(800, "sh", "sh", "/root/serve.sh")
    ranks = [zombie(rank(number)) for number in range(8)]
    shown = screen(report(observe(loop, launcher(ppid=800), *ranks)))
    assert "kept by     the shell sh /root/serve.sh (pid 800)" in shown
    assert "starts the service again; recover and kill stop it first" in shown
    assert "what starts it again goes first, then the parent" in shown
    alone = screen(report(observe(launcher(), *ranks)))
    assert "kept by" not in alone
    assert "does not reap them: kill the parent" in alone


def test_what_keeps_the_service_and_cannot_be_stopped_is_said_so() -> None:
    loop = process(800, "sh", "sh", "/root/serve.sh")
    other = process(801, "python3", "python3", "/root/other.py", ppid=800)
    shown = screen(report(observe(loop, other, launcher(ppid=800), *map(rank, range(8)))))
    assert "it cannot be stopped from here: it runs other things as well" in shown


def test_what_the_oom_killer_has_ended_stands_beside_the_memory(
    wedged: Observation, changed: Changed
) -> None:
    counted = CgroupMemory(version=1, limit_bytes=None, current_bytes=0, oom_kills=5)
    assert "the OOM killer has ended 5 processes" in screen(report(changed(wedged, {CGROUP: counted})))
    assert "OOM" not in screen(report(wedged))
