"""From a program call to a sample: who answered, what it cost here and on the nodes."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from bench.contestants.base import Contestant, Task
from bench.fleet import Fleet
from bench.measure import Finished, Invocation, run_within
from bench.model import Row, Sample
from bench.rounds import Entry
from bench.servers import Servers
from bench.tools import Tools


def sample_of(
    finished: Finished,
    *,
    hosts: int = 1,
    answered: int = 1,
    statuses: Collection[int] = (0,),
    node_cpu_s: float | None = None,
    more: Mapping[str, float] | None = None,
) -> Sample:
    """One run's numbers, and what is wrong with it in words. `statuses` are the exit statuses of a run that is right."""
    fault = ""
    if finished.timed_out:
        fault = f"not finished within {finished.wall_s:.0f} s"
    elif answered != hosts:
        fault = f"{hosts - answered} of {hosts} hosts gave no right answer ({finished.last_words})"
    elif finished.status not in statuses:
        fault = f"exit {finished.status} ({finished.last_words})"
    return Sample(
        wall_s=finished.wall_s,
        cpu_s=finished.cpu_s,
        peak_bytes=finished.peak_bytes,
        threads=finished.threads,
        processes=finished.processes,
        hosts=hosts,
        answered=answered,
        node_cpu_s=node_cpu_s,
        fault=fault,
        more=more or {},
    )


def program(
    name: str,
    invocation: Invocation,
    judge: Callable[[Finished], Sample] = sample_of,
    *,
    version: str = "",
    note: str = "",
) -> Entry:
    """A program that contacts nobody, or whose nodes' cost is not asked."""
    return Entry(
        name=name,
        run=lambda left_s: judge(run_within(invocation, left_s)),
        version=version,
        note=note,
    )


def on_servers(servers: Servers, invocation: Invocation, left_s: float) -> tuple[Finished, float | None]:
    """One run, and the CPU of the nodes for it; None where a session does not end. Nothing of it is left when it returns."""
    before_s = servers.cpu_s()
    finished = run_within(invocation, left_s)
    return finished, servers.cpu_s() - before_s if servers.settle() else None


def on_hosts(
    name: str,
    servers: Servers,
    fleet: Fleet,
    invocation: Invocation,
    *,
    answered: Callable[[Finished], int],
    statuses: Collection[int] = (0,),
    version: str = "",
    note: str = "",
) -> Entry:
    """A program that asks all hosts of a fleet; `answered` counts those whose answer is right."""

    def once(left_s: float) -> Sample:
        finished, node_cpu_s = on_servers(servers, invocation, left_s)
        return sample_of(
            finished,
            hosts=len(fleet.addresses),
            answered=answered(finished),
            statuses=statuses,
            node_cpu_s=node_cpu_s,
        )

    return Entry(name=name, run=once, version=version, note=note)


def on_one_core(contestant: Contestant) -> str:
    """The row's name of one who is held to a core."""
    return f"{contestant.name}, one core"


def cold(
    contestant: Contestant,
    servers: Servers,
    fleet: Fleet,
    tools: Tools,
    task: Task,
    *,
    pinned: Sequence[str] = (),
) -> Entry:
    """A contestant, connecting anew to all hosts. `pinned` is a prefix for the call, such as taskset with a core."""
    invocation = contestant.invocation(fleet, tools, task)
    return on_hosts(
        on_one_core(contestant) if pinned else contestant.name,
        servers,
        fleet,
        replace(invocation, argv=[*pinned, *invocation.argv]),
        answered=lambda finished: contestant.answered(finished, task.expected),
        version=contestant.version(tools),
        note=contestant.note,
    )


def installed(contestants: Sequence[Contestant], tools: Tools) -> tuple[list[Contestant], list[Row]]:
    """Those who are there, and the rows of those who are not."""
    there = [one for one in contestants if one.version(tools)]
    return there, [
        Row(name=one.name, install=one.install, note=one.note) for one in contestants if one not in there
    ]
