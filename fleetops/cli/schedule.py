"""`fleetops schedule`: sweeps that this machine starts by itself, by systemd or by cron; they observe, and change nothing."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fleetops.cli._options import add_shared_options, duration
from fleetops.cli.world import World
from fleetops.model.exit import Exit

if TYPE_CHECKING:
    from fleetops.fleet.scheduling.keepers import Keepers, Keeping
    from fleetops.fleet.scheduling.made import Program
    from fleetops.model.fleet import Host, Inventory
    from fleetops.model.schedule import Schedule

NAME = "schedule"
SUMMARY = "have this machine sweep the fleet every so often, by systemd or cron; look at that, or end it"

_INSTALL = "write and start what sweeps every so often: systemd units, or a line of the crontab"
_STATUS = "say what starts sweeps, when the next one begins, and how the last one ended"
_REMOVE = "stop it, and take away what `install` has written"


def configure(parser: argparse.ArgumentParser) -> None:
    """What to do; for `install`, of which hosts, how often, by whom."""
    commands = parser.add_subparsers(dest="schedule_command", metavar="install|status|remove", required=True)
    install = commands.add_parser("install", help=_INSTALL, description=_INSTALL)
    add_shared_options(install)
    install.add_argument(
        "hosts",
        nargs="*",
        metavar="HOSTS",
        help="nodes and hypervisors: node-174, pve-*, @group; all when left out",
    )
    install.add_argument("--every", type=duration, default=300.0, metavar="D", help="how often (default 5m)")
    install.add_argument(
        "--deadline",
        type=duration,
        default=60.0,
        metavar="D",
        help="how long one sweep may take, whatever its hosts do (default 60s)",
    )
    install.add_argument(
        "--textfile", metavar="FILE", help="have each sweep write its metrics there, for node_exporter"
    )
    whose = install.add_mutually_exclusive_group()
    whose.add_argument("--system", action="store_true", help="by the system's systemd; default for root")
    whose.add_argument("--user", action="store_true", help="by your own systemd; default for anybody else")
    install.add_argument(
        "--print", dest="only_print", action="store_true", help="show what would be written; write nothing"
    )
    for name, summary in (("status", _STATUS), ("remove", _REMOVE)):
        add_shared_options(commands.add_parser(name, help=summary, description=summary))


def execute(args: argparse.Namespace, world: World) -> Exit:
    """Act on this machine alone; no host is contacted."""
    from fleetops.fleet.scheduling.keepers import Keepers
    from fleetops.fleet.scheduling.made import schedule_name

    inventory = world.inventory(args)
    installs = args.schedule_command == "install" and not args.only_print
    keepers = Keepers(
        machine=world.machine(),
        name=schedule_name(world.inventory_path(args)),
        state=world.state(inventory, reads=not installs).absolute(),
    )
    if args.schedule_command == "install":
        return _install(args, world, inventory, keepers)
    if args.schedule_command == "remove":
        return _remove(args, world, keepers)
    return _status(args, world, keepers)


def _install(args: argparse.Namespace, world: World, inventory: "Inventory", keepers: "Keepers") -> Exit:
    from dataclasses import replace

    from fleetops.inventory import select_hosts
    from fleetops.render.schedule import changed_texts, install_json, installed_screen, planned_texts

    hosts = select_hosts(inventory, args.hosts or ["*"], of="all")
    schedule, output = _schedule(args, world, keepers), world.output(args)
    system = args.system or (keepers.machine.is_root and not args.user)
    keeper, why = keepers.choose(system=system, by_hand=_by_hand(args))
    planned = keepers.plan(keeper, schedule)
    planned = replace(
        planned, notes=(*filter(None, [why]), *planned.notes, *_agent_note(world, inventory, hosts, keeper))
    )
    if not args.only_print:
        _make(schedule.writable)
        keeper.install(planned)
    if output.wants_json:
        output.json(install_json(planned, written=not args.only_print))
    elif args.only_print:
        output.lines(planned_texts(planned))
    else:
        if changed := changed_texts(planned):
            output.lines(changed)
            output.show()
        output.lines(installed_screen(planned, output.width))
    for note in planned.notes if not output.wants_json else ():
        output.note(note)
    return Exit.FINE


def _schedule(args: argparse.Namespace, world: World, keepers: "Keepers") -> "Schedule":
    from fleetops.fleet.scheduling.made import make_schedule
    from fleetops.store.cache import cache_folder

    return make_schedule(
        _program(),
        world.inventory_path(args).absolute(),
        hosts=args.hosts,
        every_s=args.every,
        deadline_s=args.deadline,
        textfile=(world.cwd / args.textfile).absolute() if args.textfile else None,
        state=keepers.state,
        cache=cache_folder(world.environ),
        environ=world.environ,
    )


def _program() -> "Program":
    """This interpreter, and where it has fleetops from, if that is no place where it looks by itself."""
    import site
    import sys

    import fleetops
    from fleetops.fleet.scheduling.made import Program
    from fleetops.model.errors import FleetopsError

    if not sys.executable:
        raise FleetopsError(
            "it cannot be told which Python runs this", hint="python3 -m fleetops schedule install"
        )
    folder = Path(fleetops.__file__).resolve().parent.parent
    known = {Path(one).resolve() for one in (*site.getsitepackages(), site.getusersitepackages())}
    return Program(
        interpreter=str(Path(sys.executable).absolute()), package="" if folder in known else str(folder)
    )


def _by_hand(args: argparse.Namespace) -> str:
    import shlex

    textfile = ["--textfile", args.textfile] if args.textfile else []
    return shlex.join(["fleetops", "sweep", "--every", f"{args.every:g}s", *textfile, *args.hosts])


def _agent_note(
    world: World, inventory: "Inventory", hosts: "Sequence[Host]", keeper: "Keeping"
) -> tuple[str, ...]:
    """Whose key is in nobody's file: a timer has no agent."""
    if not world.environ.get("SSH_AUTH_SOCK") or keeper.has_agent:
        return ()
    from fleetops.model.nodeset import fold_names
    from fleetops.ssh.unattended import needs_agent

    with world.connections(inventory) as connections:
        found = [host.name for host in hosts if needs_agent(connections.link(host))]
    if not found:
        return ()
    whose = f"{fold_names(found)}: the key is in your agent only, and a timer has no agent: unknown in every sweep"
    return (
        f"{whose}. Name an IdentityFile without a passphrase in ssh_config, of a login that may only look",
    )


def _make(folders: Sequence[str]) -> None:
    """Where a sweep writes: a unit with a folder that is not there would not start."""
    from fleetops.model.errors import FleetopsError

    for folder in folders:
        try:
            Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise FleetopsError(f"cannot make {folder}: {error.strerror}; nothing is changed") from error


def _status(args: argparse.Namespace, world: World, keepers: "Keepers") -> Exit:
    from fleetops.render.schedule import is_late, standing_screen, status_json
    from fleetops.store.sweeps import SweepStore

    now, output = world.clock(), world.output(args)
    found = keepers.standing(now)
    states = [Path(one.state) for one in found if one.state]
    last = SweepStore(states[0] if states else keepers.state).last_sweep()
    if output.wants_json:
        output.json(status_json(keepers.name, found, last, now))
    else:
        inventory = str(world.inventory_path(args))
        output.lines(standing_screen(found, inventory, last, now, output.width))
    wrong = any(one.troubles or one.ran_well is False or is_late(one, last, now) for one in found)
    return Exit.FINDINGS if wrong or not found else Exit.FINE


def _remove(args: argparse.Namespace, world: World, keepers: "Keepers") -> Exit:
    from fleetops.render.schedule import removed_json, removed_screen

    output, removed = world.output(args), keepers.remove()
    if output.wants_json:
        output.json(removed_json(keepers.name, removed))
    else:
        output.lines(removed_screen(removed, str(world.inventory_path(args))))
    return Exit.FINE
