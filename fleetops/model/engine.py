"""What is known of an inference engine on a node: its source, its service, its log."""

from dataclasses import dataclass, field

from fleetops.model.fact import Key
from fleetops.model.machine import Process


@dataclass(frozen=True, kw_only=True)
class EngineSource:
    """Where the engine's package lies and which release it is. `version` is "" where nothing there says."""

    engine: str
    version: str
    folder: str


@dataclass(frozen=True, kw_only=True)
class Rank:
    """One worker process. `number` is its tensor-parallel rank, None where nothing tells any more (a zombie)."""

    number: int | None
    process: Process


@dataclass(frozen=True, kw_only=True)
class Service:
    """One engine instance found in a node's process table, alive or dead.

    Attributes:
        launcher: the server process that owns the port; None where it is gone (orphans).
        ranks: its workers, dead ones included.
        others: its further processes (detokenizer, data-parallel controller, ...).
        port: as its command line says; None where the launcher is gone.
        flags: flags in force as its command line says.
    """

    engine: str
    launcher: Process | None
    ranks: tuple[Rank, ...]
    others: tuple[Process, ...] = ()
    port: int | None = None
    flags: dict[str, str] = field(default_factory=dict)

    @property
    def processes(self) -> tuple[Process, ...]:
        """All of it: launcher first."""
        head = (self.launcher,) if self.launcher else ()
        return (*head, *(rank.process for rank in self.ranks), *self.others)


@dataclass(frozen=True, kw_only=True)
class ServiceRecord:
    """What a launch by fleetops left on the node, in /run/fleetops: the service's own process and files.

    `unit` is the systemd unit that it runs in, "" where it runs in none. Records without an engine are older than the
    launch of any other than SGLang.
    """

    profile: str
    run_id: str
    pid: int
    start_ticks: int
    port: int
    log: str
    unit: str = ""
    engine: str = "sglang"


@dataclass(frozen=True, kw_only=True)
class LogReport:
    """What an engine's log says so far, as a fold over its lines.

    Attributes:
        stage: the last milestone (weights, kv-cache, host-pool, graphs, listening, ready), "" before the first.
        device_tokens: the GPU pool's capacity, of one rank or attention group.
        host_pool_bytes: host pool sizes in the order they were logged, one per rank and pool.
        host_tokens: as logged, of one rank; None for releases that do not log it.
        failure: the line that names the cause of death, "" while there is none.
        telling: how much that line says; only one that tells more takes its place.
    """

    stage: str = ""
    progress: str = ""
    ready: bool = False
    device_tokens: int | None = None
    host_pool_bytes: tuple[int, ...] = ()
    host_tokens: int | None = None
    failure: str = ""
    telling: int = 0


ENGINE_SOURCE: Key[EngineSource] = Key("engine-source")
SERVICE_RECORDS: Key[tuple[ServiceRecord, ...]] = Key("service-records")


@dataclass(frozen=True, kw_only=True)
class Generated:
    """What one own small request to a service has given: tokens, and how long the answer took; `tries` until it came."""

    tokens: int
    seconds: float
    tries: int = 1


@dataclass(frozen=True, kw_only=True)
class ServiceMetrics:
    """What a service's own metrics say; None for what they do not.

    Attributes:
        running, waiting: requests.
        device_tokens, host_tokens: KV-cache pools, of one rank (the least) or of the server, as the engine counts.
    """

    running: int | None = None
    waiting: int | None = None
    device_tokens: int | None = None
    host_tokens: int | None = None


GENERATED: Key[Generated] = Key("generation")
SERVICE_METRICS: Key[ServiceMetrics] = Key("service-metrics")
