"""A machine that has started anew since the last sweep, by the kernel's boot id; of a container LXC gives each start one."""

from fleetops.checks.support.machine import Machine, gaps, of_node, told
from fleetops.model.duration import show_duration
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.machine import IDENTITY

NAME = "rebooted"


def judge_machine(machine: Machine) -> list[Finding]:
    """Only where both boot ids are known: a machine that is seen for the first time has not rebooted."""
    if unknown := gaps(NAME, machine, IDENTITY):
        return unknown
    identity, before = machine.facts.value(IDENTITY), machine.past.words.get("boot-id", "")
    if identity is None or not identity.boot_id or before in {"", identity.boot_id}:
        return []
    swept_at = machine.past.swept_at
    ago = "" if swept_at is None else f", {show_duration(machine.facts.at - swept_at)} ago"
    evidence = (
        f"up since {show_duration(identity.uptime_s)}: its boot id is {identity.boot_id[:8]},"
        f" at the last sweep{ago} it was {before[:8]}"
    )
    run = "journalctl -b -1 -n 50 --no-pager"
    return [told(NAME, machine, Severity.WARNING, "rebooted", evidence, run=run)]


def judge(observation: Observation) -> list[Finding]:
    """The node's own machine."""
    return judge_machine(of_node(observation))


CHECK = Check(
    name=NAME,
    title="the host has not rebooted since the last sweep",
    judge=judge,
    sweeps_only=True,
    latched=True,
)
