"""The exact commands of a plan, a line each; the scripts behind them where they are asked for."""

import shlex
import textwrap
from collections.abc import Sequence

from rich.text import Text

from fleetops.model.plan import Action, Plan
from fleetops.model.secrets import mask_argv
from fleetops.render.output import Output
from fleetops.render.plain import safe

_CUT = "…"


def show_commands(output: Output, plan: Plan, *, scripts: bool) -> None:
    """In order, a line each however long, so that they can be copied; with `scripts`, what the helpers are below.

    A helper cannot be copied without its script: there its line ends where the terminal does.
    """
    output.show("")
    actions = [(number, action) for number, step in enumerate(plan.steps, 1) for action in step.actions]
    for number, action in actions:
        line = f"  {number:>2}  {action.host}$ {_spoken(action)}"
        is_whole = scripts or not output.is_terminal or not _is_script(action.command.argv)
        output.show(line if is_whole else _cut(line, output.width))
    helpers = _helpers([action for _, action in actions])
    if scripts:
        _show_scripts(output, helpers)
    elif helpers:
        output.show("")
        output.show(Text("  fleetops-* are scripts of its own: --scripts shows them", style="dim"))


def _spoken(action: Action) -> str:
    """One planned command as it will run, secrets masked; a script stands by its name."""
    given = "  < values that are not shown" if action.command.stdin else ""
    return spoken_argv(mask_argv(action.command.argv)) + given


def spoken_argv(argv: Sequence[str]) -> str:
    """An argv on one line; a script stands by its name, and one that is an argument stands on the line too."""
    words = argv[3:] if _is_script(argv) else argv
    return safe(" ".join(map(shlex.quote, words))).replace("\n", "\\n")


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - len(_CUT)] + _CUT


def _is_script(argv: Sequence[str]) -> bool:
    """Whether this is `sh -c SCRIPT NAME ...`, as `model.command.shell` makes it."""
    return len(argv) > 3 and tuple(argv[:2]) == ("sh", "-c")


def _helpers(actions: Sequence[Action]) -> dict[str, str]:
    """Name -> script of each helper, in the order of their first use."""
    argvs = [action.command.argv for action in actions]
    return {argv[3]: argv[2] for argv in argvs if _is_script(argv)}


def _show_scripts(output: Output, helpers: dict[str, str]) -> None:
    """Once each: with them, the plan is exact."""
    for name, script in helpers.items():
        output.show("")
        output.show(Text(f"  {name} is: sh -c '...' {name} ARGUMENTS, with", style="dim"))
        output.show(Text(textwrap.indent(script.strip("\n"), "    "), style="dim"))
