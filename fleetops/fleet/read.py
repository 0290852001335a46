"""Reading facts from one host in one round trip."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from fleetops.model.errors import FleetopsError, Unreachable
from fleetops.model.fact import Fact, Facts, Gap, Missing
from fleetops.model.fleet import Host
from fleetops.model.session import Session


class Sessions(Protocol):
    """Whoever opens sessions: `ssh.Connections`, or a test's own."""

    def session(self, host: Host) -> Session:
        """The session to this host, opened when first asked for."""


def read_facts(
    sessions: Sessions, host: Host, facts: Sequence[Fact[Any]], clock: Callable[[], float] = time.time
) -> Facts:
    """All `facts` of `host`, each a value or the reason why there is none; an unreachable host raises nothing."""
    return read_groups(sessions, host, {"": facts}, clock)[""]


def read_groups(
    sessions: Sessions,
    host: Host,
    groups: Mapping[str, Sequence[Fact[Any]]],
    clock: Callable[[], float] = time.time,
) -> dict[str, Facts]:
    """The same for several groups of facts that are kept apart, such as those about each guest: still one round trip.

    What several of them read by the same command is read once.
    """
    at = clock()
    commands = list(dict.fromkeys(fact.command for group in groups.values() for fact in group))
    try:
        outcomes = dict(zip(commands, sessions.session(host).batch(commands), strict=True))
    except FleetopsError as error:
        reason = (error.reason or "") if isinstance(error, Unreachable) else ""
        gap = Missing(Gap.UNREACHABLE, error.message, error.hint, reason)
        return {
            name: Facts(host.name, at, {fact.key.name: gap for fact in group})
            for name, group in groups.items()
        }
    return {
        name: Facts(host.name, at, {fact.key.name: fact.read(outcomes[fact.command]) for fact in group})
        for name, group in groups.items()
    }
