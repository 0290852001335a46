"""How a task calls its subcommand: the same words, so the same output, questions and exit codes."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

import fabric
from invoke.exceptions import Exit as ExitFab

from fleetops.cli.program import run
from fleetops.cli.world import World

_SHARED_HELP = {
    "inventory": "the inventory: a folder, or a fleet.yaml",
    "lab": "use the embedded lab's inventory",
    "json": "print one JSON object",
}
HOSTS_HELP = "nodes, as in the inventory: node-174, node-[170-179], @group; repeatable; all when left out"
CHANGING_HELP = {
    "yes": "do not ask",
    "dry-run": "show the plan with its exact commands, run nothing",
    "scripts": "with --dry-run: show the scripts that they run as well",
    "waive": 'GUARD="REASON": overrule one guard, with a reason that is journaled; repeatable',
}

Body = TypeVar("Body", bound=Callable[..., None])


def task(*, name: str, help: Mapping[str, str], **options: Any) -> Callable[[Body], Body]:  # noqa: A002 - fab's word
    """Fabric's decorator, for a task that also has the options of every subcommand. Short options are fab's own."""
    decorated = fabric.task(name=name, help={**help, **_SHARED_HELP}, auto_shortflags=False, **options)
    return cast("Callable[[Body], Body]", decorated)


def call(subcommand: str, options: Iterable[str], *words: str) -> None:
    """Run `fleetops SUBCOMMAND OPTIONS -- WORDS` in this process and leave fab with its exit code where that is not 0."""
    code = run([subcommand, *options, "--", *words], World())
    if code:
        raise ExitFab(code=int(code))


def where(*, inventory: str, lab: bool, json: bool) -> list[str]:
    """The options that every subcommand has."""
    return [*value("inventory", inventory), *flag("lab", lab), *flag("json", json)]


def hosts_of(connection: Any, hosts: Iterable[str] | None) -> list[str]:
    """The patterns given to the task itself, else the host that `fab -H` runs it for, else none: all nodes."""
    named = getattr(connection, "original_host", None)
    return list(hosts or ()) or ([named] if named else [])


def changing(
    connection: Any, *, yes: bool, dry_run: bool, scripts: bool, waive: Iterable[str] | None
) -> list[str]:
    """The options of what changes something. fab's own `--dry` means a dry run here as well."""
    dry = dry_run or bool(connection.config.run.dry)
    return [*flag("yes", yes), *flag("dry-run", dry), *flag("scripts", scripts), *values("waive", waive)]


def flag(name: str, on: bool) -> list[str]:
    """`--name` where it is on."""
    return [f"--{name}"] if on else []


def value(name: str, text: object) -> list[str]:
    """`--name=TEXT` where there is one; in one word, so that no text is taken for an option."""
    return [] if text in ("", None) else [f"--{name}={text}"]


def values(name: str, texts: Iterable[str] | None) -> list[str]:
    """One `--name=TEXT` for each."""
    return [f"--{name}={text}" for text in texts or ()]
