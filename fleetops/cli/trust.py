"""`fleetops trust`: show a host's key and put it on record."""

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fleetops.cli.world import World
from fleetops.model.errors import FleetopsError
from fleetops.model.exit import Exit, worst

if TYPE_CHECKING:
    from fleetops.render.output import Output
    from fleetops.ssh.link import Link
    from fleetops.ssh.trust import Presented

NAME = "trust"
SUMMARY = "show a host's SSH key and put it on record"


def configure(parser: argparse.ArgumentParser) -> None:
    """The hosts, and whether to ask."""
    parser.add_argument("hosts", nargs="+", metavar="HOST", help="nodes and hypervisors: node-174, @group")
    parser.add_argument(
        "--yes", action="store_true", help="record without asking: only where the network is trusted"
    )


def execute(args: argparse.Namespace, world: World) -> Exit:
    """Meet each host, and every jump host on the way to it; one that fails does not keep the others back."""
    from fleetops.inventory import select_hosts

    inventory = world.inventory(args)
    output = world.output(args)
    hosts = select_hosts(inventory, args.hosts, of="all")
    entries: list[dict[str, Any]] = []
    codes: list[Exit] = []
    with world.connections(inventory) as connections:
        for host in hosts:
            try:
                for entry in _trust(connections.link(host), args, world, output):
                    entries.append(entry)
                    codes.append(Exit.REFUSED if entry["status"] == "declined" else Exit.FINE)
            except FleetopsError as error:
                if len(hosts) == 1:
                    raise
                entries.append(_failure(host.name, error))
                codes.append(error.exit_code)
                output.note(f"error: {error.message}" + (f"\n hint: {error.hint}" if error.hint else ""))
    if output.wants_json:
        output.json({"schema": "fleetops.trust/1", "hosts": entries})
    return worst(codes)


def _trust(
    link: "Link", args: argparse.Namespace, world: World, output: "Output"
) -> Iterator[dict[str, Any]]:
    """An entry for every server on the way to one host, each shown when it is dealt with."""
    from fleetops.ssh.trust import trust

    def accept(presented: "Presented") -> bool:
        output.note(f"{presented.server} presents {presented.key.type} {presented.key.fingerprint}")
        return args.yes or world.confirm(f"Record it for {presented.record_name} in {presented.file}?")

    for presented, is_recorded in trust(link, accept):
        entry = _entry(presented, is_recorded=is_recorded)
        if not output.wants_json:
            output.show(_line(entry))
        yield entry


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


def _line(entry: dict[str, Any]) -> str:
    words = {
        "known": f"already on record in {entry['file']}",
        "recorded": f"recorded in {entry['file']}",
        "declined": "not recorded",
    }
    return f"{entry['host']}   {entry['type']} {entry['fingerprint']}   {words[entry['status']]}"
