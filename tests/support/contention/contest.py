"""One round: two operators, one resource. Exactly one acts; the other is told who holds it, and since when."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from command_line import clean_environment

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.gpu_memory_held import hold_gpu_memory

_PROCESS = Path(__file__).with_name("operator_process.py")
_WAIVED = ("--waive", "attempts=the same node is broken again and again")
_REFUSED = 5
_HELD_BY = re.compile(r"is locked by run \S+ of \S+ on \S+ \(pid (\d+)\), for \d+ s")
_RUN_S = 120


@dataclass(frozen=True)
class Contest:
    """What two operators do at once. `lock`: the one that they meet at."""

    title: str
    nodes: tuple[str, str]
    lock: str


CONTESTS = (
    Contest("the same node", ("node-175", "node-175"), "node.lock"),
    Contest("two nodes of one hypervisor", ("node-174", "node-175"), "hypervisor.lock"),
)


@dataclass
class Operator:
    """One of the two, in a process of its own."""

    process: "subprocess.Popen[str]"

    def say(self, text: str) -> None:
        """One line to it."""
        assert self.process.stdin
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def hear(self) -> str:
        """One line of it. Raises RuntimeError where it has ended."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"an operator ended with {self.process.wait(_RUN_S)}")
        return line.strip()


@dataclass
class Round:
    """How it went: who acted, and what was not as it should be."""

    contest: Contest
    faults: list[str] = field(default_factory=list)


@contextmanager
def operators(lock: str, cwd: Path) -> Iterator[tuple[Operator, Operator]]:
    """Two of them; ended afterwards."""
    both = [
        subprocess.Popen(
            [sys.executable, "-P", str(_PROCESS), lock],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env=clean_environment(),
        )
        for _ in range(2)
    ]
    try:
        yield Operator(both[0]), Operator(both[1])
    finally:
        for one in both:
            assert one.stdin
            assert one.stdout
            one.stdin.close()
            one.wait(_RUN_S)
            one.stdout.close()


def fight(lab: Path, inventory: Path, contest: Contest, both: tuple[Operator, Operator]) -> Round:
    """GPU memory is held that a reset frees; both reset it at the same moment."""
    told = Round(contest)
    for node in dict.fromkeys(contest.nodes):
        hold_gpu_memory(BrokenNode(lab, node))
    for one, node in zip(both, contest.nodes, strict=True):
        one.say(json.dumps(["reset-gpus", "--inventory", str(inventory), node, "--yes", "--json", *_WAIVED]))
    early = [one.hear() for one in both]
    if early != ["ready", "ready"]:
        told.faults.append(f"they did not meet at the lock: {early}")
        return told
    for one in both:
        one.say("go")
    _judge(told, both, [json.loads(one.hear()) for one in both])
    return told


def _judge(told: Round, both: tuple[Operator, Operator], ends: list[dict[str, Any]]) -> None:
    codes = sorted(end["code"] for end in ends)
    if codes != [0, _REFUSED]:
        told.faults.append(
            f"exit codes {codes}: {[end['stdout'][-400:] + end['stderr'][-400:] for end in ends]}"
        )
        return
    loser = next(number for number, end in enumerate(ends) if end["code"] == _REFUSED)
    result, acted = json.loads(ends[loser]["stdout"]), json.loads(ends[1 - loser]["stdout"])
    held = _HELD_BY.search(result["why"])
    if result["guard"] != "lock" or not held:
        told.faults.append(f"the other is told {result['why']!r} (guard {result['guard']})")
    elif int(held[1]) != both[1 - loser].process.pid:
        told.faults.append(f"the other is told of pid {held[1]}, it is {both[1 - loser].process.pid}")
    for result_of, wanted in ((result, 0), (acted, 1)):
        made = _resets(Path(result_of["evidence"]))
        if made != wanted:
            told.faults.append(f"run {result_of['run']} has made {made} resets, not {wanted}")


def _resets(folder: Path) -> int:
    events = [
        json.loads(line) for line in (folder / "journal.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    return sum(event["event"] == "intent" and event["step"] == "reset-gpus" for event in events)
