"""`fleetops report`: what sweeps remember of the fleet as one page for a browser."""

import argparse

from fleetops.cli._findings import memory
from fleetops.cli._options import add_hosts, duration
from fleetops.cli.world import World
from fleetops.model.exit import Exit

NAME = "report"
SUMMARY = "write the fleet's health, findings, memory and recoveries over time as one self-contained page"


def configure(parser: argparse.ArgumentParser) -> None:
    """Which hosts, where to, how far back."""
    add_hosts(parser)
    parser.add_argument(
        "--html", metavar="FILE", required=True, help="the page; one that is there is replaced"
    )
    parser.add_argument(
        "--since", type=duration, default=7 * 86_400.0, metavar="D", help="how far back (default 7d)"
    )


def execute(args: argparse.Namespace, world: World) -> Exit:
    """Read the state folder and write the page; nothing is contacted."""
    from fleetops.fleet.page import Told, fleet_page
    from fleetops.inventory import select_hosts
    from fleetops.inventory.secrets import known_secrets
    from fleetops.model.fleet import Hypervisor, Node
    from fleetops.playbook.journal import list_runs
    from fleetops.playbook.story import without_secrets
    from fleetops.render.html.page import report_page
    from fleetops.store.database import Store
    from fleetops.store.replacing import replace_file

    inventory, output = world.inventory(args), world.output(args)
    chosen = select_hosts(inventory, args.hosts, of="all")
    state, known, now = world.state(inventory, reads=True), known_secrets(inventory), world.clock()
    store, since = memory(world, inventory), now - args.since
    told = Told(
        tracked=store.tracked(now),
        launches=Store(state).launches(since=since),
        runs=[without_secrets(run, known) for run in list_runs(state)],
    )
    hosts = [host for host in chosen if isinstance(host, Node | Hypervisor)]
    page = fleet_page(store, told, hosts, since=since, at=now)
    path, text = world.cwd / args.html, report_page(page)
    size = replace_file(path, text)
    if output.wants_json:
        output.json(
            {
                "schema": "fleetops.report/1",
                "file": str(path),
                "size_bytes": size,
                "hosts": len(hosts),
                "since": since,
                "at": now,
            }
        )
    else:
        output.show(f"{path}: {len(hosts)} host{'s' if len(hosts) != 1 else ''}, {size / 1000:,.0f} kB")
        if page.swept is None:
            output.note("no sweep is remembered yet: fleetops sweep")
    return Exit.FINE
