"""One trial: a node is broken, its recovery's controller is killed at one point, and the next recovery is judged."""

import json
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from command_line import CommandLine, clean_environment
from recovery_matrix.bench import NEIGHBOUR, NODES, Bench

from fleetops.lab.fleet import lab_host

_MORTAL = Path(__file__).with_name("mortal.py")
_WAIVED = ("--waive", "attempts=the same node is broken again and again")
_PATIENCE_S = 300
# One line each: RUN CLAIM of every change that has begun, START CLAIM of every service that was really started.
_CLAIMS = "cd /run/fleetops/runs 2>/dev/null && ls -d */*/pid | sed 's,/pid$,,' || true"
_STARTS = "cd /run/fleetops/claims 2>/dev/null && ls -d *.start-service/pid || true"


@dataclass(frozen=True)
class Scenario:
    """What is broken where. `restarts`: the node itself is stopped and started by its recovery."""

    platform: str
    breakage: str
    restarts: bool = False

    @property
    def node(self) -> str:
        """The lab's node."""
        return NODES[self.platform]


SCENARIOS = (
    Scenario("lxc", "per-rank-trap"),
    Scenario("bare", "gpu-memory-held"),
    Scenario("vm", "no-banner", restarts=True),
    Scenario("lxc", "vram-needs-restart", restarts=True),
)


@dataclass
class Trial:
    """What came of one point. `faults`: what was not as after an undisturbed run."""

    scenario: Scenario
    point: int | str
    what: str = ""
    faults: list[str] = field(default_factory=list)

    def expect(self, holds: bool, fault: str) -> None:
        """Note a fault unless it holds."""
        if not holds:
            self.faults.append(fault)


def points_of(bench: Bench, scenario: Scenario, log: Path) -> list[str]:
    """The points of an undisturbed recovery, in order. Raises RuntimeError where it does not end well."""
    bench.break_node(scenario.node, scenario.breakage)
    done = _mortal(bench, scenario.node, log, 0)
    if done.returncode:
        raise RuntimeError(f"undisturbed, {scenario} ends with {done.returncode}: {done.stdout}{done.stderr}")
    return [line.partition(" ")[2] for line in log.read_text(encoding="utf-8").splitlines()]


def run_trial(
    bench: Bench, scenario: Scenario, point: int | str, log: Path, other: CommandLine | None = None
) -> Trial:
    """Break, kill at the point (its number or its name), recover, judge. What cannot be run at all is a fault of the trial.

    `other`: the command line that recovers, where that is another controller, which cannot read the first one's journal.
    """
    trial = Trial(scenario, point)
    try:
        _run(bench, trial, log, other)
    except Exception as error:  # noqa: BLE001 - the loop goes on, and shows it
        trial.faults.append(f"{type(error).__name__}: {error}")
    return trial


def _run(bench: Bench, trial: Trial, log: Path, other: CommandLine | None) -> None:
    node, scenario = trial.scenario.node, trial.scenario
    bench.break_node(node, scenario.breakage)
    others = others_of(bench, node)
    before = run_ids(bench, node)
    log.unlink(missing_ok=True)
    died = _mortal(bench, node, log, trial.point)
    last = log.read_text(encoding="utf-8").splitlines()[-1].partition(" ")[2]
    killed = died.returncode == -signal.SIGKILL
    trial.what = last if killed else "after its end"
    trial.expect(
        killed or died.returncode == 0, f"the first run ended with {died.returncode}: {died.stderr[-300:]}"
    )
    first = sorted(run_ids(bench, node) - before)
    ended = bool(first) and _has_ended(bench, first[0])
    ran = (other or bench.fleetops)("recover", node, "--yes", "--json", *_WAIVED, timeout=_PATIENCE_S)
    told = json.loads(ran.stdout) if ran.stdout.strip() else {}
    trial.expect(
        ran.status == 0, f"the next run ended with {ran.status}: {told.get('why', '') or ran.stderr[-300:]}"
    )
    if killed and first and not ended:
        named = (told.get("continues") or {}).get("run_id")
        # On the hosts there is nothing of a run that had not taken a lock.
        nothing = other is not None and " locked" not in log.read_text(encoding="utf-8")
        trial.expect(named == first[0] or nothing, f"the next run names {named}, not {first[0]}")
        status = _status(bench, first[0])
        trial.expect(other is not None or status == "taken-over", f"{first[0]} is {status} afterwards")
    mine = (run_ids(bench, node) - before) | {told.get("run", "")}
    judge_state(bench, trial)
    judge_repeats(bench, trial, mine)
    judge_others(bench, trial, others)


def others_of(bench: Bench, node: str) -> tuple[Any, int]:
    """What no recovery of the node may touch: the neighbour's service, and the pid of a bystander put on the node."""
    return bench.services(NEIGHBOUR), bench.node(node).spawn("sleep", "600")


def judge_others(bench: Bench, trial: Trial, others: tuple[Any, int]) -> None:
    """They are as they were; a node that is itself restarted loses its bystander."""
    neighbour, bystander = others
    trial.expect(bench.services(NEIGHBOUR) == neighbour, "the neighbour's service is not as it was")
    if not trial.scenario.restarts:
        shown = bench.node(trial.scenario.node).run(
            "sh", "-c", f"cat /proc/{bystander}/comm 2>/dev/null || true"
        )
        trial.expect(shown.strip() == "sleep", "a process that is nobody's business was ended")


def judge_state(bench: Bench, trial: Trial) -> None:
    """As an undisturbed run leaves the node: it serves, and nothing is wrong with it."""
    node = trial.scenario.node
    ranks = [name for _, name in bench.services(node) if "scheduler" in name or "sched" in name]
    trial.expect(len(ranks) == len(lab_host(node).minors), f"ranks there: {ranks}")
    trial.expect(bench.generates(node), "the service does not generate")
    found = [one["check"] for one in bench.probe(node).json["findings"]]
    trial.expect(not found, f"probe finds {', '.join(found)}")
    locks = bench.node(node).run("sh", "-c", "ls /run/fleetops/locks 2>/dev/null || true").split()
    trial.expect(not locks, f"locks are left: {locks}")


def judge_repeats(bench: Bench, trial: Trial, runs: set[str]) -> None:
    """Over both runs together: one stop, one start, one reset, one service started."""
    node, host = trial.scenario.node, lab_host(trial.scenario.node)
    where = [node, *([host.hypervisor] if host.hypervisor else [])]
    made = [
        line.partition("/")[::2]
        for place in where
        for line in bench.node(node).run("sh", "-c", _CLAIMS, host=place).split()
    ]
    own = [name for run, name in made if run in runs]
    for name in ("power-cycle-stop", "power-cycle-start"):
        trial.expect(own.count(name) <= 1, f"{name} was submitted {own.count(name)} times")
    if trial.scenario.breakage == "gpu-memory-held":
        resets = sum(name.startswith("reset-gpus-") for name in own)
        trial.expect(resets <= 1, f"the GPUs were reset {resets} times")
    started = [
        line for line in bench.node(node).run("sh", "-c", _STARTS).split() if line.partition(".")[0] in runs
    ]
    trial.expect(len(started) <= 1, f"services were started by {', '.join(started)}")


def _mortal(bench: Bench, node: str, log: Path, point: int | str) -> "subprocess.CompletedProcess[str]":
    words = ["recover", "--inventory", str(bench.fleetops.inventory), node, "--yes", *_WAIVED]
    return subprocess.run(
        [sys.executable, "-P", str(_MORTAL), str(log), str(point), *words],
        capture_output=True,
        text=True,
        cwd=bench.fleetops.cwd,
        env=clean_environment(),
        timeout=_PATIENCE_S,
        check=False,
    )


def _runs(bench: Bench) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = bench.fleetops("runs", "--json", "--limit", "1000").json["runs"]
    return runs


def run_ids(bench: Bench, node: str) -> set[str]:
    return {run["run_id"] for run in _runs(bench) if run["node"] == node}


def _status(bench: Bench, run_id: str) -> str:
    return next((run["status"] for run in _runs(bench) if run["run_id"] == run_id), "not listed")


def _has_ended(bench: Bench, run_id: str) -> bool:
    return _status(bench, run_id) not in {"unfinished", "running"}
