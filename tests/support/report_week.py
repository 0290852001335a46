"""A made-up week of a small fleet, with the incident in it: the same every time, without a store and without a host."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fleetops.fleet.page import Told, fleet_page
from fleetops.model.finding import Finding, Severity
from fleetops.model.fleet import Guest, Hypervisor, Node
from fleetops.model.page import Figure, FleetPage
from fleetops.model.past import Sample
from fleetops.model.record import Capacity, LaunchRecord, RunSummary
from fleetops.model.sweep import Tracked
from fleetops.model.units import GB, GIB

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
NOW = 1_795_964_400.0  # Sunday, 29 November 2026, 15:00 UTC
SINCE = NOW - 7 * DAY
EVERY = 5 * MINUTE
WEDGED = NOW - 3 * DAY - HOUR + 2 * MINUTE  # Thursday, 14:02
HEALED = WEDGED + 58 * MINUTE
LOST = NOW - 2.25 * HOUR
FIRST_LAUNCH = SINCE + 1.2 * DAY

OK, WARNING, CRITICAL, UNKNOWN = Severity.OK, Severity.WARNING, Severity.CRITICAL, Severity.UNKNOWN


@dataclass
class Week:
    """What a store remembers, by host: the four questions that the page asks of it."""

    healths: Mapping[str, Sequence[tuple[float, Severity]]]
    numbers: Mapping[str, Mapping[str, Sequence[Sample]]]
    swept: tuple[float, float] | None = (NOW - 4 * MINUTE, 1.4)
    asked: list[str] = field(default_factory=list)

    def last_sweep(self):
        return self.swept

    def health(self, host, *, since):
        return tuple(one for one in self.healths.get(host, ()) if one[0] >= since)

    def series(self, host, name, *, since):
        return tuple(one for one in self.numbers[host][name] if one.at >= since)

    def figures(self, host, *, since):
        found = {name: self.series(host, name, since=since) for name in sorted(self.numbers.get(host, {}))}
        return tuple(_figure(name, samples) for name, samples in found.items() if samples)


def _figure(name, samples):
    values = [one.value for one in samples]
    return Figure(
        name=name,
        latest=values[-1],
        at=samples[-1].at,
        least=min(values),
        most=max(values),
        samples=len(values),
    )


def times(every=EVERY):
    return [SINCE + MINUTE + place * every for place in range(int(7 * DAY / every))]


def wave(at, host, deep):
    """Some unrest, the same every time."""
    phase = sum(map(ord, host))
    return deep * (math.sin(at / 5_000 + phase) + 0.6 * math.sin(at / 1_300 + 2 * phase)) / 2


def memory_gb(host, at):
    if host.startswith("pve"):
        return 71 + wave(at, host, 2.5)
    if host == "node-174" and WEDGED - 2 * MINUTE <= at < HEALED - 18 * MINUTE:
        return 9.6
    if host == "node-174" and HEALED - 18 * MINUTE <= at < HEALED - 4 * MINUTE:
        return 444.8
    if host == "node-174" and at >= HEALED - 4 * MINUTE:
        return 61 + wave(at, host, 1.5)
    before = 445 if host == "node-174" and at < FIRST_LAUNCH else 125
    return before + wave(at, host, 1.5 if before == 445 else 4)


def gpu_gib(host, at):
    if host == "node-174" and (at < FIRST_LAUNCH or HEALED - 18 * MINUTE <= at < HEALED - 6 * MINUTE):
        return 0.0
    if host == "node-176" and at >= LOST:
        return 651.0 + wave(at, host, 0.5)
    return 741 + wave(at, host, 4)


def numbers_of(host, every=EVERY):
    found = {"mem-available-bytes": [Sample(at=at, value=memory_gb(host, at) * GB) for at in times(every)]}
    if host.startswith("node"):
        seen = [at for at in times(every) if not (host == "node-178" and at > NOW - 5 * HOUR)]
        found["gpu-memory-used-bytes"] = [Sample(at=at, value=gpu_gib(host, at) * GIB) for at in seen]
        found["clock-offset-us"] = [Sample(at=at, value=round(wave(at, host, 90))) for at in seen]
        for gpu in range(8):
            heat = [Sample(at=at, value=round(61 + gpu + wave(at, f"{host}{gpu}", 6))) for at in seen]
            found[f"gpu-{gpu}-temperature-c"] = heat
            found[f"gpu-{gpu}-ecc-uncorrected-count"] = [Sample(at=at, value=0) for at in seen]
    found["swap-used-bytes"] = [Sample(at=at, value=0.0) for at in times(every)]
    return found


def severity_at(host, at):
    if host == "node-174" and WEDGED <= at < HEALED:
        return CRITICAL
    if host == "node-174" and HEALED <= at < HEALED + 40 * MINUTE:
        return WARNING
    if host == "node-176" and at >= LOST:
        return CRITICAL
    if host == "node-173" and at >= NOW - 31 * HOUR:
        return WARNING
    if host == "node-178" and at >= NOW - 5 * HOUR:
        return UNKNOWN
    if host == "pve-02" and SINCE + 2 * DAY <= at < SINCE + 2.2 * DAY:
        return UNKNOWN
    return OK


def node(name, guest):
    return Node(
        name=name,
        address="10.0.0.1",
        hypervisor="pve-01" if guest < 175 else "pve-02",
        guest=Guest(kind="lxc", id=guest),
        gpus=8,
        profile="hicache48",
    )


HOSTS = (
    *(node(f"node-{number}", number) for number in range(171, 179)),
    Hypervisor(name="pve-01", address="10.0.0.2"),
    Hypervisor(name="pve-02", address="10.0.0.3"),
)


def found(host, check, severity, subject, evidence, following, since, **more):  # noqa: PLR0917 - in the order of the page
    finding = Finding(
        host=host, check=check, severity=severity, subject=subject, evidence=evidence, next=following
    )
    count = more.pop("count", int((NOW - since) // EVERY) + 1)
    given = {"last_seen": NOW - 4 * MINUTE, "sightings": "1" * 12, "firm": True, **more}
    return Tracked(finding=finding, first_seen=since, count=count, **given)


def tracked():
    gone = {"cleared_at": HEALED + 30 * MINUTE, "last_seen": HEALED, "sightings": "111100", "count": 12}
    return (
        found(
            "node-176",
            "gpu-xid",
            CRITICAL,
            "GPU off the bus",
            "Xid 79 at 12:45 on 0000:bb:00.0, which nvidia-smi no longer lists: 7 of 8 GPUs",
            "fleetops recover node-176 --dry-run",
            LOST,
        ),
        found(
            "node-176",
            "memory-falling",
            WARNING,
            "memory falling",
            "1.9 GB an hour over the last 6 h, 119 GB available: none left in 63 h",
            "fleetops history node-176 mem-available-bytes",
            NOW - 1.5 * HOUR,
            acknowledged="ada on desk-1: the tokenizer's cache, fixed in the next image",
        ),
        found(
            "node-173",
            "does-not-fit",
            WARNING,
            "does not fit",
            "its profile asks 8 x 60 GB = 480 GB, the idle node has 445 GB",
            "fleetops size --profile hicache60 node-173",
            NOW - 31 * HOUR,
        ),
        found(
            "node-178",
            "nvidia-smi",
            UNKNOWN,
            "nvidia-smi",
            "no answer in 10 s: process 977 is in D since 10:02",
            "fleetops probe node-178",
            NOW - 5 * HOUR,
        ),
        found(
            "node-174",
            "ranks",
            CRITICAL,
            "ranks dead",
            "8 of 8 defunct since 14:02; 439 of 449 GB gone, 9.6 GB available",
            "fleetops recover node-174 --dry-run",
            WEDGED,
            **gone,
        ),
        found(
            "node-174",
            "capacity-less",
            WARNING,
            "slower than before",
            "790 tok/s, 850 at the last launch",
            "fleetops measure node-174",
            HEALED,
            **{**gone, "last_seen": HEALED + 35 * MINUTE, "count": 8, "cleared_at": HEALED + 45 * MINUTE},
        ),
    )


def launches():
    return (
        LaunchRecord(
            node="node-174",
            profile="hicache40",
            at=FIRST_LAUNCH + 6 * MINUTE,
            run_id="20261123-1948-node-174",
            capacity=Capacity(device_tokens=116_171, tokens_per_s=850.0, ready_s=341.0),
        ),
        LaunchRecord(
            node="node-174",
            profile="hicache48",
            at=HEALED,
            run_id="20261126-1440-node-174",
            capacity=Capacity(device_tokens=231_120, tokens_per_s=912.0, ready_s=312.0),
        ),
    )


def run(stamp, playbook, host, at, took, status, why=""):  # noqa: PLR0917 - likewise
    return RunSummary(
        run_id=f"{stamp}-{host}",
        playbook=playbook,
        node=host,
        started_at=at,
        ended_at=at + took,
        status=status,
        why=why,
    )


def runs():
    return [
        run("20261129-1301", "reset-gpus", "node-176", LOST + 16 * MINUTE, 4, "refused", "a GPU is lost: its host is restarted by a person"),
        run("20261126-1440", "recover", "node-174", HEALED - 20 * MINUTE, 19 * MINUTE, "done"),
        run("20261126-1359", "launch", "node-174", WEDGED - 3 * MINUTE, 9 * MINUTE, "failed", "8 ranks died: cannot allocate host memory (hicache_size 300 per rank)"),
        run("20261123-1948", "launch", "node-174", FIRST_LAUNCH, 6 * MINUTE, "done"),
    ]  # fmt: skip


def week(every: float = EVERY) -> Week:
    return Week(
        healths={host.name: [(at, severity_at(host.name, at)) for at in times(every)] for host in HOSTS},
        numbers={host.name: numbers_of(host.name, every) for host in HOSTS},
    )


def told() -> Told:
    return Told(tracked=tracked(), launches=launches(), runs=runs())


def page_of_the_week() -> FleetPage:
    return fleet_page(week(), told(), HOSTS, since=SINCE, at=NOW)  # type: ignore[arg-type]
