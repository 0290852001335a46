"""`--textfile` and `--serve` of `fleetops sweep`: each sweep is handed to Prometheus."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from fleetops import __version__
from fleetops.cli._exporter import Address, serving
from fleetops.cli._textfile import must_be_writable, write_textfile
from fleetops.model.errors import FleetopsError
from fleetops.model.exit import Exit
from fleetops.model.sweep import Sweep
from fleetops.render.prometheus import families, sweep_age

Publish = Callable[[Sweep], Exit]


class Latest(Collector):
    """The latest sweep, as a registry collects it.

    Attributes:
        sweep: None before the first one.
        clock: tells the sweep's age at each scrape; None where what is told is kept in a file and would be wrong at once.
    """

    def __init__(self, *, every_s: float | None = None, clock: Callable[[], float] | None = None) -> None:
        self.sweep: Sweep | None = None
        self._every_s = every_s
        self._clock = clock

    def collect(self) -> Iterator[Metric]:
        """All families of one and the same sweep, whatever comes meanwhile."""
        sweep = self.sweep
        yield from families(sweep, version=__version__, every_s=self._every_s)
        if sweep is not None and self._clock is not None:
            yield sweep_age(sweep, self._clock())


def registry_of(latest: Latest) -> CollectorRegistry:
    """A registry of that alone: nothing of this process's own (`process_*`, `python_*`)."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(latest)
    return registry


def textfile(sweep: Sweep, every_s: float | None = None) -> bytes:
    """A sweep in Prometheus' text format, for node_exporter."""
    latest = Latest(every_s=every_s)
    latest.sweep = sweep
    return generate_latest(registry_of(latest))


@contextmanager
def publishing(
    *,
    file: Path | None,
    address: Address | None,
    every_s: float | None,
    clock: Callable[[], float],
    tell: Callable[[str], None],
) -> Iterator[Publish]:
    """What to call with each sweep; it says FAILED where the file could not be written, and goes on.

    Raises FleetopsError at once where the file never could be, or the address cannot be listened on.
    """
    latest = Latest(every_s=every_s, clock=clock)

    def publish(sweep: Sweep) -> Exit:
        latest.sweep = sweep
        try:
            if file is not None:
                write_textfile(file, textfile(sweep, every_s))
        except FleetopsError as error:
            tell(error.message)
            return Exit.FAILED
        return Exit.FINE

    with ExitStack() as stack:
        if file is not None:
            must_be_writable(file)
            if file.suffix != ".prom":
                tell(f"node_exporter reads only files named *.prom, which {file} is not")
        if address is not None:
            where = stack.enter_context(serving(address, registry_of(latest)))
            tell(f"metrics for Prometheus: {where}/metrics")
        yield publish
