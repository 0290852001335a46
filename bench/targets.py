"""The targets. Every one is of figures measured side by side; what is read into a word is said beside it."""

from bench import warm
from bench.contestants import AS_SHIPPED, SWIFT
from bench.contestants.ansible import ANSIBLE
from bench.contestants.clush import CLUSH
from bench.contestants.fabric import GROUP, POOL
from bench.contestants.fleetops import FLEETOPS
from bench.contestants.pssh import PSSH
from bench.contestants.xargs_ssh import CURVE25519
from bench.entries import on_one_core
from bench.judging import Target
from bench.model import MB
from bench.pieces import faulty, grep, local, one_host, output, probe

_COLD = ("cold-64", "cold-256")
_WARM = ("warm-64", "warm-256")
_PEERS = tuple(one.name for one in (*SWIFT, GROUP, *AS_SHIPPED) if one is not FLEETOPS)
_ABOUT_A_SECOND = 1.2
# Kept as bytes, as text and as JSON, and one more for what is on its way.
_KEPT_MB = 4 * output.LIMIT_BYTES / MB
# Four for each of the 32 hosts at a time.
_THREADS = 128


def _cold(against: str, limit: float, *, metric: str = "wall_s", what: str = "one command, cold") -> Target:
    return Target(what=what, pieces=_COLD, row=FLEETOPS.name, metric=metric, against=(against,), limit=limit)


def _value(
    piece: str, row: str, limit: float, *, metric: str = "wall_s", unit: str = "s", what: str = ""
) -> Target:
    return Target(
        what=what or row,
        pieces=(piece,),
        row=row,
        metric=metric,
        compare="value",
        limit=limit,
        unit=unit,
    )


_FAN_OUT = (
    _cold(CURVE25519.name, 1.0),
    _cold(CLUSH.name, 1 / 3),
    _cold(PSSH.name, 1 / 3),
    _cold(ANSIBLE.name, 1 / 6),
    _cold(POOL.name, 1.0, metric="cpu_ms_host", what="client CPU a host, cold"),
    Target(what="one command, warm", pieces=_WARM, row=warm.FLEETOPS, against=(warm.MASTER,), limit=1.0),
    Target(
        what="client CPU a host, warm",
        pieces=_WARM,
        row=warm.FLEETOPS,
        metric="cpu_ms_host",
        against=(warm.MASTER,),
        limit=1 / 3,
    ),
    Target(
        what="one command, cold, at +80 ms, beside the best peer",
        pieces=("delay-80",),
        row=FLEETOPS.name,
        against=_PEERS,
        limit=1.2,
    ),
)

_FAULTS = (
    _value("faulty-1000", faulty.MIXED, faulty.DEADLINE_S + 2, what="the whole, within its deadline and 2 s"),
    Target(
        # At full speed: the last well host within a tenth of when it is done where there are no others.
        what="the well hosts, done beside the others",
        pieces=("faulty-1000",),
        row=faulty.MIXED,
        metric="rest_s",
        against=(faulty.WELL_ALONE,),
        limit=1.1,
    ),
    _value("faulty-1000", faulty.MIXED, 200, metric="peak_mb", unit="MB", what="memory"),
    _value("faulty-1000", faulty.MIXED, _THREADS, metric="threads", unit="", what="threads"),
)

_CORES = (
    Target(
        what="processes that use the cores",
        pieces=("cores-256",),
        row=FLEETOPS.name,
        metric="processes",
        compare="value",
        limit=2,
        at_least=True,
        unit="",
    ),
    Target(
        # Not slower for it: than one process of the same library on that core.
        what="one command, cold, on one core",
        pieces=("cores-256",),
        row=on_one_core(FLEETOPS),
        against=(on_one_core(POOL),),
        limit=1.0,
    ),
)

_ONE_HOST = (
    Target(
        what="CPU of the node for a sweep, less connection and shell",
        pieces=("probe-16",),
        row=probe.SWEEP,
        metric="net_node_cpu_ms_host",
        against=(probe.SHELL,),
        limit=1 / 3,
    ),
    Target(
        what="one host, cold: probe",
        pieces=("one-host",),
        row=one_host.PROBE,
        against=(one_host.SSH,),
        compare="difference",
        limit=0.25,
        unit="s",
    ),
    Target(
        what="100 MB of output",
        pieces=("output",),
        row=output.row(output.WHOLE_MB),
        against=(output.SSH,),
        limit=1.3,
    ),
    Target(
        what="linear: twice the output",
        pieces=("output",),
        row=output.row(output.WHOLE_MB),
        against=(output.row(output.HALF_MB),),
        limit=2.1,
    ),
    Target(
        what="memory that 100 MB take more than none",
        pieces=("output",),
        row=output.row(output.WHOLE_MB),
        metric="peak_mb",
        against=(output.row(output.NONE_MB),),
        compare="difference",
        limit=_KEPT_MB,
        unit="MB",
    ),
    Target(what="a rare literal", pieces=("grep-64",), row=grep.OURS, against=(grep.SSH,), limit=1.15),
)

_LOCAL = (
    Target(
        what="--help",
        pieces=("startup",),
        row=local.HELP,
        against=(local.PYTHON,),
        compare="difference",
        limit=0.05,
        unit="s",
    ),
    *(_value("inventory-5000", row, _ABOUT_A_SECOND) for row in (local.CHECK, local.LIST)),
    *(
        _value("inventory-5000", local.resolving(one), 10, metric="resolve_ms", unit="ms")
        for one in local.PATTERNS
    ),
    _value("explain", local.COLD, _ABOUT_A_SECOND),
    _value("explain", local.CACHED, 0.5),
)

TARGETS = (*_FAN_OUT, *_FAULTS, *_CORES, *_ONE_HOST, *_LOCAL)
