"""What reading a node costs the node: a sweep's probe beside a shell script as operators have them."""

from collections.abc import Callable
from typing import Any

from bench.contestants import AS_SHIPPED, SWIFT
from bench.contestants.base import Task
from bench.contestants.fleetops import fleetops, parsed
from bench.contestants.xargs_ssh import xargs_ssh
from bench.entries import cold, installed, on_hosts, on_servers, sample_of
from bench.errors import NotHere
from bench.fleet import ROOT, Fleet
from bench.measure import Finished, Invocation
from bench.model import PieceResult, Sample
from bench.pieces.base import Bench, Piece, fleet_of
from bench.rounds import Entry
from bench.servers import Servers

SCRIPT = ROOT / "bench/node_probe.sh"
SWEEP, PROBE, SHELL = "fleetops sweep", "fleetops probe", "shell probe, xargs ssh"
_LAST_LINE = "probe complete"
# A node without a GPU has findings and things that could not be told: the reading itself is whole.
_READ = (0, 1, 3)


def _probe(piece: Piece, bench: Bench) -> PieceResult:
    if not bench.tools.find("xargs"):
        raise NotHere("there is no xargs: apt-get install findutils")
    with fleet_of(piece.hosts) as (servers, fleet):
        bare = fleetops(fleet, "run", "*", "--json", "--", "true")
        bare_ssh = xargs_ssh(fleet, "true", fleet.ssh_config_curve25519)
        script = xargs_ssh(fleet, f"sh {SCRIPT}", fleet.ssh_config_curve25519)
        entries = [
            _entry(SWEEP, servers, fleet, fleetops(fleet, "sweep", "--json"), bare=bare, answered=_read),
            _entry(PROBE, servers, fleet, fleetops(fleet, "probe", "--json"), bare=bare, answered=_read),
            _entry(SHELL, servers, fleet, script, bare=bare_ssh, answered=_completed),
        ]
        return piece.measure(bench, entries)


def _entry(
    name: str,
    servers: Servers,
    fleet: Fleet,
    invocation: Invocation,
    *,
    bare: Invocation,
    answered: Callable[[Finished], int],
) -> Entry:
    """The probe, and right before it `true` by the same client: the difference is what the reading itself costs."""
    hosts = len(fleet.addresses)

    def once(left_s: float) -> Sample:
        _, bare_s = on_servers(servers, bare, left_s)
        finished, node_s = on_servers(servers, invocation, left_s)
        more = {}
        if bare_s is not None and node_s is not None:
            more["net_node_cpu_ms_host"] = (node_s - bare_s) * 1000 / hosts
        return sample_of(
            finished,
            hosts=hosts,
            answered=answered(finished),
            statuses=_READ,
            node_cpu_s=node_s,
            more=more,
        )

    return Entry(name=name, run=once)


def _read(finished: Finished) -> int:
    """Hosts of which memory was read: a host that gave nothing has no numbers."""
    return sum(_has_memory(host) for host in parsed(finished).get("hosts", []))


def _has_memory(host: dict[str, Any]) -> bool:
    """A sweep has it among its numbers, a probe in its summary."""
    numbers = host.get("numbers") or (host.get("summary") or {}).get("memory") or {}
    return any("available" in name for name in numbers)


def _completed(finished: Finished) -> int:
    return sum(line == _LAST_LINE for line in finished.stdout.splitlines())


def _everyone(piece: Piece, bench: Bench) -> PieceResult:
    task = Task(words=("sh", str(SCRIPT)), expected=_LAST_LINE)
    there, absent = installed((*SWIFT, *AS_SHIPPED), bench.tools)
    with fleet_of(piece.hosts) as (servers, fleet):
        own = fleetops(fleet, "sweep", "--json")
        sweep = on_hosts(SWEEP, servers, fleet, own, answered=_read, statuses=_READ)
        others = [cold(one, servers, fleet, bench.tools, task) for one in there]
        return piece.measure(bench, [sweep, *others], absent)


PIECES = (
    Piece(
        name="probe-16",
        title="{hosts} hosts: what reading a node costs the node",
        hosts=16,
        rounds=5,
        columns=("wall_s", "cpu_ms_host", "node_cpu_ms_host", "net_node_cpu_ms_host"),
        run=_probe,
        notes=(
            "*net* is less what `true` costs over the same client: connection, login and shell.",
            "Every node is this machine, with all that runs on it: the more processes, the more there is to read.",
        ),
    ),
    Piece(
        name="probe-64",
        title="{hosts} hosts, cold: a sweep, and the shell probe by everyone",
        hosts=64,
        rounds=3,
        run=_everyone,
        notes=("Every node is this machine: what the probes cost it takes most of the time.",),
    ),
)
