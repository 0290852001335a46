"""Who holds the GPUs' device files and is no service's: strangers, and the driver's own daemons. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from fleetops.engines.support.process_table import ProcessTable
from fleetops.engines.support.protected import is_driver_daemon
from fleetops.model.finding import Observation
from fleetops.model.machine import HOLDERS, Holder, Process


@dataclass(frozen=True, kw_only=True)
class Stranger:
    """A process with a GPU device file open that is not known to be the service's. `process` None: gone from the table."""

    pid: int
    process: Process | None
    paths: tuple[str, ...]

    @property
    def title(self) -> str:
        """What runs there, for a person."""
        return self.process.title if self.process else "no longer in the process table"


def foreign_holders(
    observation: Observation, table: ProcessTable, accounted: set[int]
) -> tuple[tuple[Stranger, ...] | None, tuple[Process, ...]]:
    """Those that are not `accounted` for (None where the holders are not known), and the daemons."""
    holders = observation.node_facts.value(HOLDERS)
    if holders is None:
        return None, ()
    strangers: list[Stranger] = []
    daemons: list[Process] = []
    for pid, paths in _by_pid(holders).items():
        process = table.by_pid.get(pid)
        if process and is_driver_daemon(process):
            daemons.append(process)
        elif pid not in accounted:
            strangers.append(Stranger(pid=pid, process=process, paths=paths))
    return tuple(strangers), tuple(daemons)


def _by_pid(holders: Iterable[Holder]) -> dict[int, tuple[str, ...]]:
    paths: dict[int, tuple[str, ...]] = {}
    for holder in holders:
        paths[holder.pid] = (*paths.get(holder.pid, ()), holder.path)
    return {pid: tuple(dict.fromkeys(held)) for pid, held in paths.items()}
