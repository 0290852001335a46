"""Writes the generated pages of docs/ from what the program itself defines; `--check` only says which are stale.

A page that is generated starts with a line that says so. tests/quality/test_documents.py keeps them current.
"""

import argparse
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from document_checks import checks
from document_playbooks import cell, playbooks, steps

from fleetops.cli.program import build_parser, subcommands
from fleetops.model.exit import Exit, worst

DOCS = Path(__file__).resolve().parents[1] / "docs"
# Said once at the top of the page.
SHARED = {"help", "inventory", "lab", "json"}
COMMANDS_HEAD = """\
# Commands

Every command takes `--inventory PATH` or `--lab`, and `--json`. What the exit status says is in
[exit-codes.md](exit-codes.md).

| what | where it is kept |
| --- | --- |
| inventory | `--inventory PATH`, else `$FLEETOPS_INVENTORY`, else `./inventory/`, else the user's configuration folder |
| journals, evidence, records | `settings: {state: PATH}` of the inventory, else `$FLEETOPS_STATE`, else `$XDG_STATE_HOME/fleetops`, else `~/.local/state/fleetops` |
| proofs, fetched releases | `$FLEETOPS_CACHE`, else `$XDG_CACHE_HOME/fleetops`, else `~/.cache/fleetops`; may be deleted at any time |
| the lab | `$FLEETOPS_LAB`, else `fleetops-lab-UID` in `$TMPDIR` or `/tmp`; with `--lab` journals and records lie in its `state/`, whatever `$FLEETOPS_STATE` says, and `lab down` takes all of it away |
"""
NOTICE = "<!-- written by `make docs`; do not edit -->\n\n"


def exit_codes() -> str:
    """docs/exit-codes.md, from fleetops/model/exit.py."""
    rows = "\n".join(f"| {int(code)} | {code.meaning} |" for code in Exit)
    order = _worst_first()
    return (
        "# Exit codes\n\n"
        "The same for every command, so that a script can rely on them.\n\n"
        f"| code | meaning |\n| ---: | --- |\n{rows}\n\n"
        f"Where several apply, the first of {', '.join(str(int(code)) for code in order)} is taken.\n\n"
        "With `--json`, an error is one object on standard error:\n\n"
        "```json\n"
        '{"schema": "fleetops.error/1", "error": "usage", "message": "...", "hint": "..."}\n'
        "```\n\n"
        "`host` and `guard` are added where there is one. Standard output then holds nothing, or the object that\n"
        "the command had already printed.\n"
    )


def _worst_first() -> list[Exit]:
    left, order = list(Exit), []
    while left:
        order.append(worst(left))
        left.remove(order[-1])
    return order


def commands() -> str:
    """docs/commands.md, from the subcommands' own parsers; argparse's help differs between Python releases."""
    subparsers = _subparsers(build_parser())
    parts = [COMMANDS_HEAD]
    for module in subcommands():
        parts += _sections(f"fleetops {module.NAME}", module.SUMMARY, subparsers[module.NAME])
    return "\n".join(parts)


def _sections(name: str, summary: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """A command's section, and one for each of its own subcommands."""
    nested = _subparsers(parser)
    actions = [action for action in _actions(parser) if action.dest not in SHARED]
    rows = [
        f"| `{cell(_spelled(action))}` | {_meaning(action)} |"
        for action in actions
        if not isinstance(action.choices, dict)
    ]
    table = "\n| | |\n| --- | --- |\n" + "\n".join(rows) + "\n" if rows else ""
    summary = summary[:1].upper() + summary[1:].rstrip(".") + "."
    yield f"## {name}\n\n{summary}\n\n```text\n{_usage(parser)}\n```\n{table}"
    for sub, subparser in nested.items():
        yield from _sections(f"{name} {sub}", subparser.description or f"`{name} {sub}`", subparser)


def _usage(parser: argparse.ArgumentParser) -> str:
    """The parser's own usage, without what every command takes; in lines of the same width on every terminal."""
    parser.formatter_class = partial(argparse.HelpFormatter, width=10_000)
    usage = " ".join(parser.format_usage().removeprefix("usage: ").split())
    for shared in (" [-h]", " [--inventory PATH | --lab]", " [--json]"):
        usage = usage.replace(shared, "")
    # An option and its value stay on one line.
    whole = re.sub(r"\[[^][]*\]", lambda found: found[0].replace(" ", "\0"), usage)
    lines = textwrap.wrap(whole, 110, subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join(lines).replace("\0", " ")


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """What a parser takes; argparse has no public way to it."""
    return [action for action in parser._actions if action.help != argparse.SUPPRESS]  # noqa: SLF001


def _subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    return next((action.choices for action in _actions(parser) if isinstance(action.choices, dict)), {})


def _positional(action: argparse.Action) -> str:
    name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    if action.choices and not action.metavar:
        name = "|".join(map(str, action.choices))
    many = f"{name} ..." if action.nargs in {"*", "+", argparse.REMAINDER} else name
    return f"[{many}]" if action.nargs in {"?", "*"} else many


def _spelled(action: argparse.Action) -> str:
    if not action.option_strings:
        return _positional(action)
    value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    return ", ".join(action.option_strings) + value


def _meaning(action: argparse.Action) -> str:
    """The help text, its `%(default)s` and the like filled in as argparse does."""
    return cell((action.help or "") % vars(action))


PAGES: dict[str, Callable[[], str]] = {
    "exit-codes.md": exit_codes,
    "commands.md": commands,
    "checks.md": checks,
    "playbooks.md": playbooks,
    "steps.md": steps,
}


def stale_pages() -> list[str]:
    """The names of the pages that differ from what would be written now."""
    return [
        name
        for name, write in PAGES.items()
        if not (DOCS / name).is_file() or (DOCS / name).read_text(encoding="utf-8") != NOTICE + write()
    ]


def main() -> int:
    """Write them, or, with `--check`, name the stale ones and return 1."""
    stale = stale_pages()
    if "--check" in sys.argv[1:]:
        for name in stale:
            print(f"docs/{name} is stale: make docs", file=sys.stderr)
        return 1 if stale else 0
    for name in stale:
        (DOCS / name).write_text(NOTICE + PAGES[name](), encoding="utf-8")
        print(f"wrote docs/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
