"""What every sweep remembers of a host, whichever check asks for it."""

from collections.abc import Iterable

from fleetops.engines.attribution import target_services
from fleetops.model.engine import ENGINE_SOURCE
from fleetops.model.fact import Facts
from fleetops.model.finding import Observation
from fleetops.model.gpu import GPUS
from fleetops.model.machine import IDENTITY, MEMORY
from fleetops.model.past import Remembered
from fleetops.model.sight import HypervisorSight


def of_node(observation: Observation) -> Remembered:
    """Its machine's, its GPU driver's and its service's. What could not be read is left as it was remembered."""
    facts = observation.node_facts
    gpus, source = facts.value(GPUS), facts.value(ENGINE_SOURCE)
    numbers, words = _of_machine(facts)
    if gpus and gpus.tells_memory:
        numbers["gpu-memory-used-bytes"] = sum(gpu.memory_used_bytes for gpu in gpus.gpus)
    if gpus and gpus.driver_version:
        words["driver-version"] = gpus.driver_version
    if source and source.version:
        words["engine-version"] = source.version
    led = [one.launcher for one in target_services(observation) if one.launcher]
    if led:
        words["launcher"] = f"{led[0].pid}:{led[0].start_ticks}"
    return Remembered(numbers=numbers, words=words)


def of_hypervisor(sight: HypervisorSight) -> Remembered:
    """Its machine's."""
    numbers, words = _of_machine(sight.facts)
    return Remembered(numbers=numbers, words=words)


def together(found: Iterable[Remembered]) -> Remembered:
    """All of it as one; a name that two remember is the later one's."""
    numbers: dict[str, float] = {}
    words: dict[str, str] = {}
    for one in found:
        numbers |= one.numbers
        words |= one.words
    return Remembered(numbers=numbers, words=words)


def _of_machine(facts: Facts) -> tuple[dict[str, float], dict[str, str]]:
    numbers: dict[str, float] = {}
    words: dict[str, str] = {}
    if memory := facts.value(MEMORY):
        numbers["mem-available-bytes"] = memory.available_bytes
        numbers["swap-used-bytes"] = memory.swap_total_bytes - memory.swap_free_bytes
    if identity := facts.value(IDENTITY):
        words["boot-id"] = identity.boot_id
    return numbers, words
