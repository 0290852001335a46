"""A host that answers late: it is there, and something in it waits."""

from fleetops.checks.support.machine import Machine, gaps, of_node, told
from fleetops.checks.support.saying import listed
from fleetops.model.duration import show_delay
from fleetops.model.fact import Gap, Missing
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.machine import ANSWERED

NAME = "slow-to-answer"


def judge_machine(machine: Machine) -> list[Finding]:
    """With what ran out of its own time meanwhile, which is mostly why. A silent host is not slow."""
    if machine.facts.silence is not None:
        return []
    if unknown := gaps(NAME, machine, ANSWERED):
        return unknown
    answered, limit_s = machine.facts.value(ANSWERED), machine.thresholds["slow-to-answer-s"]
    if answered is None or answered.seconds <= limit_s:
        return []
    late = sorted(
        name.replace("-", " ")
        for name, one in machine.facts.readings.items()
        if isinstance(one, Missing) and one.gap is Gap.TIMED_OUT
    )
    because = f"; no answer in time came of {listed(late)}" if late else ""
    evidence = f"it took {show_delay(answered.seconds)} to answer, more than {limit_s:g} s{because}"
    return [told(NAME, machine, Severity.WARNING, "slow to answer", evidence)]


def judge(observation: Observation) -> list[Finding]:
    """The node's own machine."""
    return judge_machine(of_node(observation))


CHECK = Check(name=NAME, title="the host answers promptly", judge=judge, sweeps_only=True)
