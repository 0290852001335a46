"""A clock that is off: certificates, Xids and journals are then dated wrong, and cannot be compared between hosts."""

from fleetops.checks.support.machine import Machine, gaps, of_node, told
from fleetops.model.duration import show_duration
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.machine import ANSWERED, CLOCK

NAME = "clock-skew"


def judge_machine(machine: Machine) -> list[Finding]:
    """Off by what no moment of the reading explains: the host looked at its clock at some time while it was asked."""
    if unknown := gaps(NAME, machine, CLOCK, ANSWERED):
        return unknown
    clock, answered = machine.facts.value(CLOCK), machine.facts.value(ANSWERED)
    if clock is None or answered is None:
        return []
    asked_at = machine.facts.at
    ahead_s, behind_s = clock.epoch_s - asked_at - answered.seconds, asked_at - clock.epoch_s
    off_s, limit_s = max(ahead_s, behind_s), machine.thresholds["clock-skew-s"]
    if off_s <= limit_s:
        return []
    way = "ahead of" if ahead_s > behind_s else "behind"
    evidence = f"its clock is {show_duration(off_s)} {way} this machine's; up to {limit_s:g} s are let pass"
    return [told(NAME, machine, Severity.WARNING, "clock off", evidence, run="timedatectl")]


def judge(observation: Observation) -> list[Finding]:
    """The node's own machine."""
    return judge_machine(of_node(observation))


CHECK = Check(name=NAME, title="the host's clock is right", judge=judge, sweeps_only=True)
