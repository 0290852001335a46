"""The numbers that sweeps remember as metric families: one for each name, in base units, by the unit that the name ends in.

A new check's number (`nvme-wear-percent`) needs nothing here: it becomes `fleetops_nvme_wear_ratio`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from fleetops.model.sweep import HostSweep

_NAME = re.compile(r"([a-z][a-z0-9]*(?:-[a-z0-9]+)*)-([a-z]+)")
# As NVIDIA's driver writes them: `GPU-` and a UUID (RFC 9562).
_OF_A_GPU = re.compile(r"gpu-(GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-(.+)")
# Unit in a fact's name -> the base unit in a metric's, and by what to divide.
_UNITS = {
    "bytes": ("_bytes", 1),
    "c": ("_celsius", 1),
    "count": ("", 1),
    "ms": ("_seconds", 1e3),
    "percent": ("_ratio", 100),
    "ratio": ("_ratio", 1),
    "s": ("_seconds", 1),
    "share": ("_ratio", 1),
    "us": ("_seconds", 1e6),
    "w": ("_watts", 1),
}
# What only ever rises, until a driver or a service begins anew.
_COUNTERS = {"fleetops_gpu_ecc_uncorrected", "fleetops_gpu_hw_slowdown_seconds"}
_MEANINGS = {
    "fleetops_mem_available_bytes": "MemAvailable of the host.",
    "fleetops_swap_used_bytes": "Swap in use on the host.",
    "fleetops_gpu_memory_used_bytes": "GPU memory in use, all GPUs of the node together.",
    "fleetops_gpu_ecc_uncorrected": "Uncorrectable ECC errors of a GPU, as its driver counts them.",
    "fleetops_gpu_hw_slowdown_seconds": "Time that a GPU's hardware has slowed it down, as its driver counts it.",
    "fleetops_device_tokens": "Tokens that the service's KV cache holds on the GPUs.",
    "fleetops_host_tokens": "Tokens that the service's KV cache holds in host memory.",
    "fleetops_requests_waiting": "Requests that wait in the service's queue.",
    "fleetops_requests_running": "Requests that the service works on.",
}
# No fact may speak in the name of what a sweep tells of itself, of hosts and of findings.
_TAKEN = re.compile(r"fleetops_(build|sweep|finding|left_out|host_(up|swept|answer|severity))")

Family = GaugeMetricFamily | CounterMetricFamily


@dataclass(frozen=True, kw_only=True)
class Kept:
    """How many GPUs of one host, and how many different names, are told."""

    gpus: int
    families: int


@dataclass(frozen=True, kw_only=True)
class _Number:
    """One number: which family, of which GPU ("" of the host itself), in the family's unit."""

    family: str
    fact: str
    gpu: str
    value: float


def fact_families(hosts: Sequence[HostSweep], kept: Kept) -> tuple[list[Metric], Mapping[str, int]]:
    """The families, by name, and how much of what is left out: GPUs, and numbers that no family may or can hold."""
    made = _Families(kept.families)
    left_out = {"gpus": 0, "facts": 0}
    for host in hosts:
        numbers = list(_numbers(host.remembered.numbers.items()))
        gpus = sorted({one.gpu for one in numbers if one.gpu})
        too_many = gpus[kept.gpus :]
        left_out["gpus"] += len(too_many)
        left_out["facts"] += len(host.remembered.numbers) - len(numbers)
        left_out["facts"] += sum(not made.take(host, one) for one in numbers if one.gpu not in too_many)
    return made.by_name(), left_out


class _Families:
    """Those that numbers have asked for so far, up to a limit."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._made: dict[str, tuple[tuple[str, ...], Family]] = {}

    def take(self, host: HostSweep, one: _Number) -> bool:
        """Whether it has found its place: not above the limit, nor under a name that has other labels."""
        labels = {"host": host.name, "kind": host.kind, **({"gpu": one.gpu} if one.gpu else {})}
        if one.family not in self._made and len(self._made) < self._most:
            self._made[one.family] = (tuple(labels), _family(one, tuple(labels)))
        wanted, family = self._made.get(one.family, ((), None))
        if family is None or wanted != tuple(labels):
            return False
        family.add_metric(tuple(labels.values()), one.value)
        return True

    def by_name(self) -> list[Metric]:
        """All of them."""
        return [family for _, (_, family) in sorted(self._made.items())]


def _numbers(facts: Iterable[tuple[str, float]]) -> Iterable[_Number]:
    for name, value in sorted(facts):
        of_gpu = _OF_A_GPU.fullmatch(name)
        gpu, rest = (of_gpu[1], f"gpu-{of_gpu[2]}") if of_gpu else ("", name)
        found = _NAME.fullmatch(rest)
        if found is None or found[2] not in _UNITS:
            continue
        unit, divisor = _UNITS[found[2]]
        family = f"fleetops_{found[1].replace('-', '_')}{unit}"
        if not _TAKEN.match(family):
            yield _Number(family=family, fact=rest, gpu=gpu, value=value / divisor)


def _family(one: _Number, labels: Sequence[str]) -> Family:
    kind = CounterMetricFamily if one.family in _COUNTERS else GaugeMetricFamily
    meaning = _MEANINGS.get(one.family, f"What sweeps remember as {one.fact}.")
    return kind(one.family, meaning, labels=labels)
