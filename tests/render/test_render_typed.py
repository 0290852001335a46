"""What is given to be typed goes to the inventory that the user's own command named."""

import io
import json
from contextvars import copy_context

import pytest

from fleetops.render.output import Output
from fleetops.render.plain import error_lines
from fleetops.render.typed import name_inventory, typed

COMMANDS = ("probe", "recover", "run", "runs", "reset-gpus", "inventory", "trust")


def told(text: str, *option: str) -> str:
    """`text` as it is told where the command named its inventory so."""

    def within() -> str:
        name_inventory(option, COMMANDS)
        return typed(text)

    return copy_context().run(within)


@pytest.mark.parametrize(
    ("hint", "as_typed"),
    [
        ("fleetops recover node-174 --dry-run", "fleetops recover --lab node-174 --dry-run"),
        ("fleetops runs", "fleetops runs --lab"),
        ("fleetops run pve-01 -- pct start 174", "fleetops run --lab pve-01 -- pct start 174"),
        (
            "fleetops probe n1; then `fleetops reset-gpus n1`",
            "fleetops probe --lab n1; then `fleetops reset-gpus --lab n1`",
        ),
        ("`fleetops inventory list` shows all hosts", "`fleetops inventory --lab list` shows all hosts"),
        ("ssh-keygen -R n1, and fleetops trust n1", "ssh-keygen -R n1, and fleetops trust --lab n1"),
    ],
)
def test_each_command_in_a_hint_names_it(hint: str, as_typed: str) -> None:
    assert told(hint, "--lab") == as_typed


@pytest.mark.parametrize(
    "hint",
    [
        "fleetops lab up",
        "fleetops launches it itself",
        "run fleetops on a terminal",
        "write one: fleetops inventory example FOLDER",
        "fleetops probe --inventory other node-174",
        "pgrep -af fleetops-reset-gpus",
        "ls /run/fleetops runs",
    ],
)
def test_other_words_stay(hint: str) -> None:
    assert told(hint, "--lab") == hint


def test_a_path_is_quoted_as_a_shell_takes_it() -> None:
    assert told("fleetops runs", "--inventory", "my fleet") == "fleetops runs --inventory 'my fleet'"
    assert told("fleetops runs", "--inventory", "a\\1b") == "fleetops runs --inventory 'a\\1b'"


def test_where_none_was_named_nothing_is_added() -> None:
    assert typed("fleetops runs") == "fleetops runs"


def test_errors_and_json_tell_it_alike_and_data_stays() -> None:
    body = {
        "hosts": [{"hint": "fleetops trust n1", "stdout": "fleetops probe n1"}],
        "findings": ({"next": "fleetops recover n1", "evidence": "fleetops runs"},),
    }

    def within() -> tuple[str, str]:
        name_inventory(("--lab",), COMMANDS)
        stream = io.StringIO()
        Output(stream, io.StringIO(), wants_json=True).json(body)
        return error_lines("no", "fleetops probe n1", colour=False), stream.getvalue()

    error, printed = copy_context().run(within)
    assert error == "error: no\n hint: fleetops probe --lab n1\n"
    assert json.loads(printed) == {
        "hosts": [{"hint": "fleetops trust --lab n1", "stdout": "fleetops probe n1"}],
        "findings": [{"next": "fleetops recover --lab n1", "evidence": "fleetops runs"}],
    }
