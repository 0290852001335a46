"""`fleetops trust`: show a host's key and put it on record."""

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from fleetops.cli.world import World
from fleetops.model.errors import FleetopsError, UsageError
from fleetops.model.exit import Exit, worst

if TYPE_CHECKING:
    from fleetops.model.fleet import Host
    from fleetops.render.output import Output
    from fleetops.ssh.connections import Connections
    from fleetops.ssh.trust import Presented

NAME = "trust"
SUMMARY = "show a host's SSH key and put it on record"

_UNASKED = "compare the fingerprint with the host's own (ssh-keygen -l, on its console), then add --yes"
_ENDINGS = {
    "known": "already on record in {file}",
    "recorded": "recorded in {file}",
    "declined": "not recorded",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """The hosts, and whether to ask."""
    parser.add_argument("hosts", nargs="+", metavar="HOST", help="nodes and hypervisors: node-174, @group")
    parser.add_argument(
        "--yes", action="store_true", help="record without asking: only where the network is trusted"
    )


def execute(args: argparse.Namespace, world: World) -> Exit:
    """Meet each host, and every jump host on the way to it; what was recorded before an error is said all the same."""
    from fleetops.inventory import select_hosts

    inventory = world.inventory(args)
    output = world.output(args)
    hosts = select_hosts(inventory, args.hosts, of="all")
    entries: list[dict[str, Any]] = []
    codes: list[Exit] = []
    try:
        with world.connections(inventory) as connections:
            for entry, code in _trust_all(connections, hosts, args, world, output):
                entries.append(entry)
                codes.append(code)
    finally:
        if entries:
            _show(entries, output)
    return worst(codes)


def _trust_all(
    connections: "Connections",
    hosts: "Sequence[Host]",
    args: argparse.Namespace,
    world: World,
    output: "Output",
) -> Iterator[tuple[dict[str, Any], Exit]]:
    """An entry and its exit code for every server; a host that fails does not keep the others back."""
    from fleetops.render.typed import typed

    for host in hosts:
        try:
            for entry in _trust(connections, host, args, world, output):
                yield entry, Exit.REFUSED if entry["status"] == "declined" else Exit.FINE
        except FleetopsError as error:
            if len(hosts) == 1 or (isinstance(error, UsageError) and not error.host):
                raise
            output.note(f"error: {error.message}" + (f"\n hint: {typed(error.hint)}" if error.hint else ""))
            yield _failure(host.name, error), error.exit_code


def _trust(
    connections: "Connections", host: "Host", args: argparse.Namespace, world: World, output: "Output"
) -> Iterator[dict[str, Any]]:
    """An entry for every server on the way to one host."""
    from fleetops.ssh.trust import trust

    def accept(presented: "Presented") -> bool:
        output.note(f"{presented.server} presents {presented.key.type} {presented.key.fingerprint}")
        question = f"Record it for {presented.record_name} in {presented.file}?"
        return args.yes or world.confirm(question, hint=_UNASKED)

    for presented, is_recorded in trust(connections.link(host), accept):
        yield _entry(presented, is_recorded=is_recorded)


def _failure(host: str, error: FleetopsError) -> dict[str, Any]:
    return {"host": host, "status": error.kind, "message": error.message, "hint": error.hint}


def _entry(presented: "Presented", *, is_recorded: bool) -> dict[str, Any]:
    status = "known" if presented.is_known else "recorded" if is_recorded else "declined"
    return {
        "host": presented.server,
        "status": status,
        "name": presented.record_name,
        "type": presented.key.type,
        "fingerprint": presented.key.fingerprint,
        "file": presented.place or str(presented.file),
    }


def _show(entries: Sequence[dict[str, Any]], output: "Output") -> None:
    """One object; or one line for each server that was met, in columns."""
    if output.wants_json:
        output.json({"schema": "fleetops.trust/1", "hosts": entries})
        return
    met = [entry for entry in entries if "fingerprint" in entry]
    host, kind = (max((len(entry[name]) for entry in met), default=0) for name in ("host", "type"))
    for entry in met:
        key = f"{entry['type']:<{kind}} {entry['fingerprint']}"
        output.show(f"{entry['host']:<{host}}   {key}   {_ENDINGS[entry['status']].format(**entry)}")
