"""One trial: a node is broken, its recovery loses its connection around one change, and that run and the next are judged."""

import json
from dataclasses import dataclass
from typing import Any

from command_line import CommandLine, Ran
from interruptions.trial import (
    Scenario,
    Trial,
    judge_others,
    judge_repeats,
    judge_state,
    others_of,
    run_ids,
)
from recovery_matrix.bench import Bench

from cuts.cutter import Moment
from cuts.servers import Front

_WAIVED = ("--waive", "attempts=the same node is broken again and again")
_PATIENCE_S = 300


@dataclass
class Cut(Trial):
    """What came of one cut. `what`: the change whose connection was cut; `told`: what its run said then, "" where it ended well."""

    moment: Moment = Moment.BEFORE
    told: str = ""


def points_of(bench: Bench, front: Front, scenario: Scenario) -> list[str]:
    """The changes of an undisturbed recovery, in order. Raises RuntimeError where it does not end well."""
    bench.break_node(scenario.node, scenario.breakage)
    front.cutter.arm(0)
    done = _recover(_through(bench, front), scenario.node)
    if done.status:
        raise RuntimeError(f"undisturbed, {scenario} ends with {done.status}: {done.stdout}{done.stderr}")
    return list(front.cutter.seen)


def run_trial(bench: Bench, front: Front, scenario: Scenario, point: int | str, moment: Moment) -> Cut:
    """Break, cut at the point (its number, or what its name holds), recover again, judge. What cannot be run is a fault."""
    trial = Cut(scenario, point, moment=moment)
    try:
        _run(bench, front, trial)
    except Exception as error:  # noqa: BLE001 - the loop goes on, and shows it
        trial.faults.append(f"{type(error).__name__}: {error}")
    return trial


def _run(bench: Bench, front: Front, trial: Cut) -> None:
    node, scenario = trial.scenario.node, trial.scenario
    bench.break_node(node, scenario.breakage)
    others = others_of(bench, node)
    before = run_ids(bench, node)
    front.cutter.arm(trial.point, trial.moment)
    first = _recover(_through(bench, front), node)
    trial.what = front.cutter.cut or "after its end"
    if first.status:
        told = _told(first)
        trial.told = f"exit {first.status}: {told.get('why') or told.get('message')} | {told.get('hint')}"
        trial.expect(bool(told.get("hint")), f"it does not say what to do: {trial.told}")
    second = _recover(bench.fleetops, node)
    told = _told(second)
    trial.expect(second.status == 0, f"the next run ended with {second.status}: {told.get('why') or told}")
    judge_state(bench, trial)
    judge_repeats(bench, trial, run_ids(bench, node) - before)
    judge_others(bench, trial, others)


def _through(bench: Bench, front: Front) -> CommandLine:
    """The same command line, its connections leading through the front."""
    return type(bench.fleetops)(front.inventory, bench.fleetops.cwd)


def _recover(command: CommandLine, node: str) -> Ran:
    return command("recover", node, "--yes", "--json", *_WAIVED, timeout=_PATIENCE_S)


def _told(ran: Ran) -> dict[str, Any]:
    """The result; of a run that was refused before it began, the error."""
    text = ran.stdout.strip() or ran.stderr.strip().splitlines()[-1]
    told: dict[str, Any] = json.loads(text)
    return told
