"""What the commands that change something share: options, plan, confirmation, run, result, exit code."""

import argparse
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, Any

from fleetops.cli.world import World
from fleetops.model.errors import Refused, UsageError
from fleetops.model.exit import Exit

if TYPE_CHECKING:
    from fleetops.fleet.operate import Operation
    from fleetops.model.finding import Finding
    from fleetops.model.fleet import Inventory, Node, Profile
    from fleetops.model.plan import Plan
    from fleetops.model.record import Result
    from fleetops.playbook.book import Playbook
    from fleetops.render.output import Output

_EXITS = {
    "done": Exit.FINE,
    "failed": Exit.FAILED,
    "refused": Exit.REFUSED,
    "interrupted": Exit.INTERRUPTED,
}


def add_change_options(parser: argparse.ArgumentParser) -> None:
    """The options of every command that changes something."""
    parser.add_argument("--dry-run", action="store_true", help="show the exact commands, run none")
    parser.add_argument(
        "--scripts", action="store_true", help="with --dry-run: show the scripts that they run as well"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument(
        "--waive",
        metavar='GUARD="REASON"',
        action="append",
        default=[],
        help="overrule one guard, with a reason that is journaled (attempts, size, proof)",
    )


def add_measure_option(parser: argparse.ArgumentParser) -> None:
    """The option of those that launch."""
    parser.add_argument(
        "--measure",
        action="store_true",
        help="once ready, measure as `fleetops measure` does, not just for a few seconds",
    )


def waivers(args: argparse.Namespace) -> dict[str, str]:
    """The guards waived on the command line, each with its reason. Raises UsageError."""
    from fleetops.playbook.guards import WAIVABLE

    waived: dict[str, str] = {}
    for text in args.waive:
        guard, equals, reason = text.partition("=")
        if guard not in WAIVABLE:
            raise UsageError(f"guard {guard!r} cannot be waived", hint=f"only {', '.join(WAIVABLE)} can")
        if not equals or not reason.strip():
            raise UsageError(
                f"waiving {guard} needs a reason", hint=f'--waive {guard}="why this is right here"'
            )
        waived[guard] = reason.strip()
    return waived


def the_node(inventory: "Inventory", name: str) -> "Node":
    """The one node of that name. Raises UsageError."""
    from fleetops.inventory.patterns import select_hosts
    from fleetops.model.fleet import Node

    hosts = [host for host in select_hosts(inventory, [name]) if isinstance(host, Node)]
    if len(hosts) != 1:
        raise UsageError(f"{name} names {len(hosts)} nodes; this acts on one at a time")
    return hosts[0]


def profile_named(inventory: "Inventory", name: str) -> "Profile":
    """The profile of that name. Raises UsageError."""
    from fleetops.inventory.problems import did_you_mean

    if name not in inventory.profiles:
        hint = (
            did_you_mean(name, inventory.profiles)
            or f"known profiles: {', '.join(inventory.profiles) or 'none'}"
        )
        raise UsageError(f"there is no profile {name!r} in {inventory.path}", hint=hint)
    return inventory.profiles[name]


def operate_on_node(args: argparse.Namespace, world: World, playbook: str) -> Exit:
    """The shipped playbook of that name on `args.node`, whose profile is its own."""
    from fleetops.playbook.load import shipped_playbook

    inventory = world.inventory(args)
    node = the_node(inventory, args.node)
    profile = profile_named(inventory, node.profile) if node.profile else None
    return operate(args, world, inventory, node=node, book=shipped_playbook(playbook), profile=profile)


def operate(
    args: argparse.Namespace,
    world: World,
    inventory: "Inventory",
    *,
    node: "Node",
    book: "Playbook",
    profile: "Profile | None",
    emit: Callable[[dict[str, Any]], None] | None = None,
) -> Exit:
    """Plan `book` for `node`, show it, ask, run it, show how it ended. With --json, `emit` takes the one object."""
    from fleetops.fleet.operate import Operation
    from fleetops.store.cache import cache_folder
    from fleetops.store.proofs import Proofs

    if args.scripts and not args.dry_run:
        raise UsageError("--scripts shows what would run", hint="it goes with --dry-run")
    output = world.output(args)
    with world.connections(inventory) as sessions:
        operation = Operation(
            inventory=inventory,
            node=node,
            profile=profile,
            book=book,
            sessions=sessions,
            state=world.state(inventory, reads=args.dry_run),
            waived=waivers(args),
            proofs=Proofs(cache_folder(world.environ)),
            clock=world.clock,
            tell=output.note,
        )
        return _run(args, world, output, operation, emit or output.json)


def _run(
    args: argparse.Namespace,
    world: World,
    output: "Output",
    operation: "Operation",
    emit: Callable[[dict[str, Any]], None],
) -> Exit:
    from fleetops.render.operate import (
        RunScreen,
        plan_json,
        result_json,
        show_next,
        show_plan,
        show_result,
    )

    if not args.dry_run:
        operation.store.must_be_writable()
    with output.err.status(f"looking at {operation.node.name}") if output.is_terminal else nullcontext():
        plan, situation = operation.prepare()
    if plan.healthy:
        if not args.dry_run:
            operation.resumption.close()
            operation.gate.found_well()
        return _nothing_to_do(output, plan, situation.findings, emit)
    obstacle = plan.first_obstacle
    if not output.wants_json:
        # Whoever reads along may go away (`| head`). A run that was agreed to is not stopped by that, and its exit code
        # says how it ended all the same. The commands of a run that is refused would hide why.
        with suppress(BrokenPipeError) if args.yes else nullcontext():
            exact = args.dry_run and not obstacle
            show_plan(output, plan, situation.findings, exact=exact, scripts=args.scripts)
    elif obstacle:
        emit(plan_json(plan, "refused"))
    elif args.dry_run:
        emit(plan_json(plan, "planned", _in_earnest(args, plan.node)))
    if obstacle:
        raise Refused(obstacle.blocked, guard=obstacle.guard, host=plan.node, hint=obstacle.mend)
    if args.dry_run:
        if not output.wants_json:
            show_next(output, _in_earnest(args, plan.node))
        return Exit.FINE
    if not args.yes and not world.confirm("  Proceed?"):
        output.note("nothing was changed")
        return Exit.FINE
    with RunScreen(output) as screen:
        result = operation.execute(situation, screen.on)
    with suppress(BrokenPipeError):
        if output.wants_json:
            emit(result_json(plan, result))
        else:
            show_result(output, result)
    return exit_of(result)


def _nothing_to_do(
    output: "Output",
    plan: "Plan",
    findings: "Sequence[Finding]",
    emit: Callable[[dict[str, Any]], None],
) -> Exit:
    """The node is well: that is said, and what is wrong with it all the same."""
    from fleetops.model.finding import Severity
    from fleetops.render.interrupted import show_interrupted
    from fleetops.render.operate import plan_json, show_findings

    if output.wants_json:
        emit(plan_json(plan, "healthy"))
    else:
        show_interrupted(output, plan.interrupted)
        output.show(f"{plan.node}: {plan.healthy}; nothing to do")
        show_findings(output, findings)
    return Exit.FINDINGS if any(one.severity is Severity.CRITICAL for one in findings) else Exit.FINE


def _in_earnest(args: argparse.Namespace, node: str) -> str:
    """The command whose dry run this was, for one node, without `--dry-run`."""
    import shlex

    given = vars(args)
    words = ["fleetops", args.command, *given.get("words", ())]
    for option in ("profile", "from", "only"):
        words += [f"--{option}", given[option]] if given.get(option) else []
    words += [f"--{name.replace('_', '-')}" for name in ("no_relaunch", "measure") if given.get(name)]
    for waiver in args.waive:
        words += ["--waive", waiver]
    return shlex.join([*words, node])


def exit_of(result: "Result") -> Exit:
    """The exit code of a finished run."""
    return _EXITS[result.status]
