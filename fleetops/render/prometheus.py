"""A sweep as Prometheus sees it: metric families of the fleet, its hosts, their findings and their numbers.

Every family is made anew from one sweep, so what is gone has no series left. Label values come from the inventory, from
the checks' names and from GPU UUIDs alone; what a host says (subjects, evidence) stands in none.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily, Metric

from fleetops.model.finding import Severity
from fleetops.model.sweep import SILENCES, HostSweep, Sweep, Tracked
from fleetops.render.prometheus_facts import Kept, fact_families

STATES = ("firm", "unconfirmed", "acknowledged", "silenced")
"""A finding is in one of them: `firm` is what to alert on."""

_HOST = ("host", "kind")
_FINDING = (*_HOST, "check", "severity", "state")


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """How much of a fleet is told; what is above is left out, and counted.

    Attributes:
        gpus: of one host; facts: different names of numbers, over all hosts.
    """

    hosts: int = 1000
    gpus: int = 32
    facts: int = 64


def families(
    sweep: Sweep | None, *, version: str, every_s: float | None = None, bounds: Bounds = Bounds()
) -> Iterator[Metric]:
    """All there is to tell of that sweep; before the first one, of the program alone.

    `every_s` is how far apart sweeps are meant to be; None where this is the only one.
    """
    yield _one("build_info", "The version of fleetops that sweeps.", 1, version=version)
    if every_s is not None:
        yield _one("sweep_interval_seconds", "How far apart sweeps are meant to be.", every_s)
    if sweep is None:
        return
    yield _one("sweep_timestamp_seconds", "When the latest finished sweep began (Unix time).", sweep.at)
    yield _one("sweep_duration_seconds", "How long the latest finished sweep took.", sweep.seconds)
    hosts = sweep.hosts[: bounds.hosts]
    kinds = {host.name: host.kind for host in hosts}
    tracked = [one for one in sweep.tracked if one.finding.host in kinds]
    yield from _of_hosts(hosts, sweep.severities)
    yield from _of_findings(tracked, kinds)
    told, left_out = fact_families(hosts, Kept(gpus=bounds.gpus, families=bounds.facts))
    yield from told
    yield _left_out({"hosts": len(sweep.hosts) - len(hosts), **left_out})


def sweep_age(sweep: Sweep, now: float) -> Metric:
    """How long ago it began: at every scrape more, where no further sweep comes to an end."""
    return _one(
        "sweep_age_seconds",
        "How long before this scrape the latest finished sweep began.",
        max(0.0, now - sweep.at),
    )


def _one(name: str, meaning: str, value: float, **labels: str) -> Metric:
    family = GaugeMetricFamily(f"fleetops_{name}", meaning, labels=tuple(labels))
    family.add_metric(tuple(labels.values()), value)
    return family


def _of_hosts(hosts: Sequence[HostSweep], worst: Mapping[str, Severity]) -> Iterator[Metric]:
    up = GaugeMetricFamily(
        "fleetops_host_up",
        "Whether the host answered (1) or kept silent (0), which is not down.",
        labels=_HOST,
    )
    swept = GaugeMetricFamily(
        "fleetops_host_swept_timestamp_seconds", "When the host was last asked (Unix time).", labels=_HOST
    )
    answer = GaugeMetricFamily(
        "fleetops_host_answer_seconds",
        "How long the host took to answer; none where it was silent.",
        labels=_HOST,
    )
    severity = GaugeMetricFamily(
        "fleetops_host_severity",
        "1 for the worst that is found on the host (ok where all is well), 0 for the others; what is silenced does not count.",
        labels=(*_HOST, "severity"),
    )
    for host in hosts:
        labels = (host.name, host.kind)
        is_up = not any(finding.check in SILENCES for finding in host.findings)
        up.add_metric(labels, float(is_up))
        swept.add_metric(labels, host.at)
        if is_up:
            answer.add_metric(labels, host.seconds)
        for one in Severity:
            severity.add_metric((*labels, one.word), float(worst[host.name] is one))
    yield from (up, swept, answer, severity)


def _of_findings(tracked: Sequence[Tracked], kinds: Mapping[str, str]) -> Iterator[Metric]:
    """Those of one host, check, severity and state are one series: their subjects are no label."""
    count = GaugeMetricFamily(
        "fleetops_findings",
        "How many findings a check has on a host. state: firm (seen often enough to be believed), unconfirmed, "
        "acknowledged, silenced.",
        labels=_FINDING,
    )
    since = GaugeMetricFamily(
        "fleetops_finding_first_seen_timestamp_seconds",
        "When the oldest of these findings was first seen (Unix time).",
        labels=_FINDING,
    )
    counted = Counter(_labels(one, kinds) for one in tracked)
    first = {_labels(one, kinds): one.first_seen for one in sorted(tracked, key=_youngest_first)}
    for labels, number in sorted(counted.items()):
        count.add_metric(labels, number)
        since.add_metric(labels, first[labels])
    yield from (count, since)


def _labels(one: Tracked, kinds: Mapping[str, str]) -> tuple[str, ...]:
    finding = one.finding
    return (finding.host, kinds[finding.host], finding.check, finding.severity.word, _state(one))


def _state(one: Tracked) -> str:
    if one.silenced_until:
        return "silenced"
    if one.acknowledged:
        return "acknowledged"
    return "firm" if one.firm else "unconfirmed"


def _youngest_first(one: Tracked) -> float:
    return -one.first_seen


def _left_out(counts: Mapping[str, int]) -> Metric:
    family = GaugeMetricFamily(
        "fleetops_left_out",
        "What is not told, so that there are not more series than a Prometheus can take; of: hosts, gpus, facts.",
        labels=("of",),
    )
    for what, count in counts.items():
        family.add_metric((what,), count)
    return family
