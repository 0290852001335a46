"""Made-up sweeps, and what Prometheus would read of them."""

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from fleetops.cli._publishing import Latest, registry_of
from fleetops.model.finding import Finding, Severity
from fleetops.model.past import Remembered
from fleetops.model.sweep import HostSweep, Sweep, Tracked

AT = 1_800_000_000.0
GPU = "GPU-8a1f2b3c-0d4e-5f60-7182-93a4b5c6d7e8"
NUMBERS = {
    "mem-available-bytes": 445e9,
    "swap-used-bytes": 0.0,
    "gpu-memory-used-bytes": 8e9,
    "device-tokens-count": 231_120.0,
    "host-tokens-count": 900_000.0,
    "requests-waiting-count": 2.0,
    "requests-running-count": 7.0,
    f"gpu-{GPU}-ecc-uncorrected-count": 3.0,
    f"gpu-{GPU}-hw-slowdown-us": 2_500_000.0,
    f"gpu-{GPU}-hw-slowdown-seen-count": 1.0,
}


def tracked(host="node-174", check="ranks-dead", severity=Severity.CRITICAL, subject="ranks dead", **more):
    finding = Finding(host=host, check=check, severity=severity, subject=subject, evidence="5 of 8")
    settled = {"first_seen": AT - 600, "last_seen": AT, "sightings": "11", "count": 2, "firm": True}
    return Tracked(finding=finding, **{**settled, **more})


def host(name, found=(), numbers=(), **more):
    kind = "hypervisor" if name.startswith("pve") else "node"
    findings = tuple(one.finding for one in found if one.finding.host == name)
    remembered = Remembered(numbers=dict(numbers))
    return HostSweep(
        name=name, kind=kind, at=AT, seconds=0.5, findings=findings, remembered=remembered, **more
    )


def sweep(*found, hosts=None, at=AT, cleared=()):
    """Of node-173, which is well, node-174 with all numbers, and its hypervisor."""
    named = hosts or (
        host("node-173", found),
        host("node-174", found, NUMBERS),
        host("pve-01", found),
    )
    return Sweep(at=at, seconds=1.42, hosts=tuple(named), tracked=found, cleared=tuple(cleared), number=7)


def latest_of(one, **options):
    latest = Latest(**options)
    latest.sweep = one
    return latest


def scraped(latest):
    """Every sample: (name, its labels) -> value; the labels as sorted pairs."""
    text = generate_latest(registry_of(latest)).decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    found = {(one.name, tuple(sorted(one.labels.items()))): one.value for one in samples}
    assert len(found) == len(samples), "a series is told twice"
    return found


def read(one, name, **labels):
    """The value of that series; None where there is none."""
    return scraped(latest_of(one)).get((f"fleetops_{name}", tuple(sorted(labels.items()))))
