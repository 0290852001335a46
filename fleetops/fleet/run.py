"""Running one command on many hosts."""

from collections.abc import Callable, Sequence

from fleetops.fleet.read import Sessions
from fleetops.model.command import Command, Outcome
from fleetops.model.exit import Exit, worst
from fleetops.model.fleet import Host
from fleetops.model.run import RunReport
from fleetops.ssh import quote
from fleetops.ssh.fanout import WIDTH, Result, fan_out

SPARE_S = 60.0
"""How much longer than the command's deadline a host may take in all: jump hosts, login, a slow shell."""


def run_on_hosts(
    sessions: Sessions,
    hosts: Sequence[Host],
    command: Command,
    *,
    width: int = WIDTH,
    on_result: Callable[[Result[Host, Outcome]], None] | None = None,
) -> RunReport:
    """The command on every host, `width` at a time; `on_result` sees each as it comes.

    A host that cannot be reached, or that never comes back, costs its own result only.
    Raises UsageError, before any host is contacted, for a command that could not be sent.
    """
    quote.check(command)
    rounds = -(-len(hosts) // width)
    results = {}
    for result in fan_out(
        hosts,
        lambda host: sessions.session(host).run(command),
        width=width,
        deadline_s=rounds * (command.deadline_s + SPARE_S),
    ):
        results[result.item.name] = result
        if on_result:
            on_result(result)
    in_order = [results[host.name] for host in hosts]
    return RunReport(
        outcomes=tuple((r.item.name, r.value) for r in in_order if r.value is not None),
        failures=tuple((r.item.name, r.error) for r in in_order if r.error is not None),
    )


def exit_code(report: RunReport) -> Exit:
    """0 where all ended with 0, 1 where a command failed, 3 where one ran out of time or a host was not reached."""
    ran = (_code_of(outcome) for _, outcome in report.outcomes)
    return worst([*ran, *(error.exit_code for _, error in report.failures)])


def _code_of(outcome: Outcome) -> Exit:
    if outcome.timed_out:
        return Exit.UNKNOWN
    return Exit.FINE if outcome.ok else Exit.FINDINGS
