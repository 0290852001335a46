"""What the rest of fleetops asks of an inference engine. One file per engine answers; all of it is pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from fleetops.model.engine import LogReport, Service, ServiceRecord
from fleetops.model.fleet import Flag, FlagScope, FlagValue, Profile
from fleetops.model.load import Others
from fleetops.model.machine import Listener, Process


@dataclass(frozen=True, kw_only=True)
class Generation:
    """What one generation request gave."""

    tokens: int
    text: str


@dataclass(frozen=True, kw_only=True)
class PoolSizes:
    """KV-cache pools of one rank, or of the whole server where it reports but one number.

    Attributes:
        rank: `TP3`, `DP1 TP0`, ...; "" where the engine does not say.
        device_tokens: the GPU pool. None where it is not reported.
        host_tokens: the host pool. None where it is not reported.
    """

    rank: str = ""
    device_tokens: int | None = None
    host_tokens: int | None = None


class Engine(Protocol):
    """An inference engine as fleetops knows it.

    Attributes:
        name: as the inventory spells it.
        title: as a person writes it.
        tensor_flag: the flag that a profile's ranks become, as `expected_ranks` reads it.
        ready_paths: HTTP paths that say whether the server is up, the best first; 404 means this release lacks it.
        info_paths: paths that answer with the server's settings and pools; they hang when a rank hangs.
        metrics_path: Prometheus text, where it was switched on.
        names_model: whether a generation must name the model.
        counted_flags: those that its counts of ranks and of host memory look at, beside what shapes the cache.
        pools_of: whose pools it reports: each rank's, or the whole server's (`total`).
    """

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def tensor_flag(self) -> str: ...
    @property
    def ready_paths(self) -> tuple[str, ...]: ...
    @property
    def info_paths(self) -> tuple[str, ...]: ...
    @property
    def metrics_path(self) -> str: ...
    @property
    def names_model(self) -> bool: ...
    @property
    def counted_flags(self) -> frozenset[str]: ...
    @property
    def pools_of(self) -> FlagScope: ...

    def find_services(
        self,
        processes: Iterable[Process],
        listeners: Iterable[Listener] = (),
        records: Iterable[ServiceRecord] = (),
    ) -> tuple[Service, ...]:
        """Every service of this engine in a process table, dead and orphaned ones included."""

    def is_worker(self, process: Process) -> bool:
        """Whether this process is one of the engine's own workers, by the name that the kernel keeps."""

    def expected_ranks(self, flags: Mapping[str, str]) -> int:
        """How many ranks a service with these flags has on one node."""

    def argv(self, profile: Profile, values: Mapping[str, FlagValue]) -> tuple[str, ...]:
        """The launch command line. `values` (by flag name) win over the profile's own.

        Raises ValueError for a flag that is still `auto`.
        """

    def ports(self, port: int, flags: Mapping[str, str]) -> tuple[int, ...]:
        """The TCP ports that such a service is known to take: the HTTP port first."""

    def host_memory_flags(self, profile: Profile) -> tuple[Flag, ...]:
        """The flags of this profile that take host memory, those that act by their default included."""

    def fold(self, report: LogReport, line: str) -> LogReport:
        """The log report with one more line taken in."""

    def read_log(self, lines: Iterable[str]) -> LogReport:
        """The report of a whole log."""

    def generate(self, prompt: str, max_tokens: int, model: str) -> tuple[str, str, bytes]:
        """Method, path and body of a request that generates `max_tokens` tokens, whatever the model would end on.

        `model` is the served model's name, "" for an engine that needs none.
        """

    def parse_generation(self, body: bytes) -> Generation:
        """What came of it. Raises ValueError for an error body or another form."""

    def parse_info(self, body: bytes) -> tuple[PoolSizes, ...]:
        """Pools as the info path tells. Raises ValueError for another form."""

    def parse_others(self, text: str) -> Others | None:
        """How many requests the service has, as the metrics tell; None where they do not say."""

    def parse_metrics(self, text: str) -> tuple[PoolSizes, ...]:
        """Pools as the metrics tell, one entry per rank; empty where they do not say."""

    def owns_segment(self, name: str) -> bool:
        """Whether a /dev/shm segment of that name can only be this engine's."""

    def may_own_segment(self, name: str) -> bool:
        """Whether it is of a kind that this engine makes, but other programs make as well (torch, NCCL, Python)."""
