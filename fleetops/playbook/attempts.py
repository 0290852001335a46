"""Attempts: how often a node's GPUs may be reset or its power switched, counted on the host that everybody goes through.

One such run per node in half an hour, two a day. A run is one attempt however many of these rungs it takes, and so are
the runs that finish an interrupted one. The count lies beside the lock, on the node's hypervisor, else on the node.
"""

import json
import math
from collections.abc import Collection

from fleetops.facts.attempts import FOLDER
from fleetops.model.attempts import ATTEMPTS, Attempt
from fleetops.model.command import Command, shell
from fleetops.model.duration import show_duration
from fleetops.model.errors import ConnectionLost, FleetopsError, Refused
from fleetops.model.fact import Facts
from fleetops.model.finding import Observation
from fleetops.platforms.support.known import known, on_node
from fleetops.playbook.fence import was_fenced_off
from fleetops.playbook.lock import Owner, lock_lost
from fleetops.playbook.lost import Sender

NAME = "attempts"
APART_S = 30 * 60.0
DAY_S = 24 * 3600.0
MOST_A_DAY = 2
_KEPT = 20

# $1 folder, $2 node, $3 run, $4 how many lines are kept; stdin: one JSON object that names the run. Replaces the file as
# a whole; counting the same run again does nothing.
_COUNT = r"""
umask 077
mkdir -p "$1" || exit 1
if grep -qsF "\"run_id\": \"$3\"" "$1/$2"; then exit 0; fi
read -r up _ < /proc/uptime
read -r boot < /proc/sys/kernel/random/boot_id
run=$(cat)
new="$1/.$2.$$"
{
    if [ -e "$1/$2" ]; then tail -n "$4" "$1/$2" || exit 1; fi
    printf '{"boot_id": "%s", "at_uptime": %s, "run": %s}\n' "$boot" "${up%.*}" "$run"
} > "$new" && mv "$new" "$1/$2" && exit 0
rm -f "$new"
exit 1
"""


def attempts(observation: Observation, own: Collection[str] = ()) -> str:
    """No other run has reset the node's GPUs or switched its power within half an hour, nor two within a day.

    `own`: the run that asks, and those that it goes on from.
    """
    others = [one for one in _counted(observation) if one.run_id not in own and one.ago_s < DAY_S]
    wait_s = max(_wait_s(others), 0.0)
    if not wait_s:
        return ""
    last = others[0]
    often = f" ({len(others)} such runs within a day)" if len(others) >= MOST_A_DAY else ""
    return (
        f"{observation.node.name} was reset or power-cycled {show_duration(last.ago_s)} ago by run {last.run_id} of {last.by}{often}:"
        f" the next such run is allowed in {show_duration(60 * math.ceil(wait_s / 60))}"
    )


def _wait_s(others: list[Attempt]) -> float:
    """Until another one is allowed; `others` are of the last day, the newest first."""
    if not others:
        return 0.0
    of_the_day = DAY_S - others[MOST_A_DAY - 1].ago_s if len(others) >= MOST_A_DAY else 0.0
    return max(APART_S - others[0].ago_s, of_the_day)


def how_to_go_on(observation: Observation) -> str:
    """What to do about it: see why the last one did not last, wait, or overrule it."""
    node = observation.node.name
    return (
        f"fleetops probe {node}; where it cannot wait, the same command with"
        f' --waive {NAME}="why it helps this time", which is journaled'
    )


def _where(observation: Observation) -> Facts:
    return observation.hypervisor_facts or on_node(observation)


def _counted(observation: Observation) -> tuple[Attempt, ...]:
    return known(_where(observation), ATTEMPTS, "how often it was reset or power-cycled", NAME)


def is_counted(observation: Observation, own: Collection[str]) -> bool:
    """Whether one of these runs has been counted already. What cannot be read (and was waived) is counted again."""
    found = _where(observation).value(ATTEMPTS) or ()
    return any(one.run_id in own for one in found)


def host_of(observation: Observation) -> str:
    """The host that counts."""
    return _where(observation).host


def count_attempt(sender: Sender, node: str, owner: Owner) -> None:
    """Write this run's attempt down on the sender's host; once, however often it is asked.

    Raises Refused (guard `lock`) where the lock there is not the run's any more, FleetopsError where it cannot be written.
    """
    run = {"run_id": owner.run_id, "by": owner.whose}
    session, command = sender.session, _count(node, owner.run_id, json.dumps(run))
    try:
        outcome = sender.make(command, NAME)
    except ConnectionLost:
        outcome = sender.make(command, NAME)  # counting the same run again does nothing
    if was_fenced_off(outcome):
        raise lock_lost(session.host, owner.run_id)
    if not outcome.ok:
        raise FleetopsError(
            f"the attempt could not be counted on {session.host}: {outcome.said}; nothing more is changed",
            host=session.host,
            hint=f"fleetops run {session.host} -- df -h /run",
        )


def _count(node: str, run_id: str, run: str) -> Command:
    return shell(
        _COUNT,
        *(FOLDER, node, run_id, str(_KEPT - 1)),
        stdin=run,
        name="fleetops-count",
        root=True,
        changes=True,
    )


def refuse(observation: Observation, own: Collection[str]) -> Refused | None:
    """The refusal, with what to do about it; None where an attempt is left."""
    try:
        why = attempts(observation, own)
    except Refused as error:
        why = error.message
    node = observation.node.name
    return Refused(why, guard=NAME, host=node, hint=how_to_go_on(observation)) if why else None
