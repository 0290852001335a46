"""`fleetops grep-source` as it is typed: streams, exit codes, JSON, and options in any order."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from local_host import LocalSession

from fleetops.cli.program import run
from fleetops.cli.world import World
from fleetops.model.errors import Unreachable
from fleetops.model.exit import Exit
from fleetops.model.fleet import Host, Inventory

FLEET = """\
hypervisors:
  pve-01: {{address: 127.0.0.1}}
nodes:
  node-171: {{address: 127.0.0.71, source: {tree}}}
  node-172: {{address: 127.0.0.72, source: {tree}}}
  node-181: {{address: 127.0.0.81, source: {tree}}}
groups:
  alive: ["node-[171-172]"]
"""


class Hosts:
    """Every host is this machine, but for node-181, which is silent."""

    def session(self, host: Host) -> LocalSession:
        if host.name == "node-181":
            raise Unreachable("node-181: no answer in 10 s", hint="ping 127.0.0.1", host=host.name)
        return LocalSession(host.name)


class LocalWorld(World):
    """Connections that stay on this machine; everything else is the real thing."""

    @contextmanager
    def connections(self, inventory: Inventory) -> Iterator[Any]:
        yield Hosts()


@dataclass
class Shell:
    """Where commands are typed."""

    inventory: Path
    out: str = field(default="", init=False)
    err: str = field(default="", init=False)

    def __call__(self, *words: str) -> Exit:
        world = LocalWorld(
            stdin=io.StringIO(), stdout=io.StringIO(), stderr=io.StringIO(), environ={}, cwd=self.inventory
        )
        code = run(["grep-source", "--inventory", str(self.inventory), *words], world)
        self.out, self.err = world.stdout.getvalue(), world.stderr.getvalue()  # type: ignore[attr-defined]
        return code

    @property
    def body(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.out)
        return parsed


@pytest.fixture
def type_(tree: Path, tmp_path: Path) -> Shell:
    (tmp_path / "fleet.yaml").write_text(FLEET.format(tree=tree))
    return Shell(tmp_path)


def test_two_equal_nodes_and_a_silent_one(type_: Shell) -> None:
    assert type_("--include", "server_args.py", "hicache_size") is Exit.UNKNOWN
    assert type_.out.splitlines() == [
        "node-[171-172]   SGLang 0.5.9   2 lines in 1 file",
        "  srt/server_args.py:8    hicache_size: int = 0",
        "  srt/server_args.py:15   default=ServerArgs.hicache_size,",
        "",
        "node-181         not asked   no answer in 10 s",
        "  ping 127.0.0.1",
    ]
    assert type_.err == ""


def test_found_is_0_and_nothing_found_is_1(type_: Shell) -> None:
    assert type_("hicache_size", "@alive") is Exit.FINE
    assert type_("no such thing", "@alive") is Exit.FINDINGS
    assert type_.out == "node-[171-172]   SGLang 0.5.9   no match\n"


def test_json_is_one_object(type_: Shell) -> None:
    assert type_("--json", "host memory", "-F", "--limit", "1") is Exit.UNKNOWN
    (answer,) = type_.body["answers"]
    assert (answer["hosts"], answer["engine"], answer["version"]) == (
        ["node-171", "node-172"],
        "sglang",
        "0.5.9",
    )
    assert answer["total"] == 2
    assert answer["lines"] == [
        {
            "file": "srt/mem_cache/memory_pool_host.py",
            "line": 7,
            "text": '            f"Allocating {requested_bytes / 1e9:.2f} GB host memory for hierarchical KV cache."',
        }
    ]
    assert type_.body["unreachable"] == [
        {
            "host": "node-181",
            "reached": False,
            "error": "node-181: no answer in 10 s",
            "hint": "ping 127.0.0.1",
        }
    ]


@pytest.mark.parametrize(
    "words",
    [
        ("hicache_size", "node-171", "--json"),
        ("--json", "hicache_size", "node-171"),
        ("hicache_size", "--json", "node-171"),
        ("hicache_size", "-i", "node-171", "--json"),
        ("-C", "0", "--json", "--", "hicache_size", "node-171"),
    ],
)
def test_options_stand_anywhere(type_: Shell, words: tuple[str, ...]) -> None:
    assert type_(*words) is Exit.FINE
    assert [answer["hosts"] for answer in type_.body["answers"]] == [["node-171"]]


def test_a_pattern_that_looks_like_an_option_comes_after_two_dashes(type_: Shell) -> None:
    assert type_("--", "--hicache-size", "@alive") is Exit.FINE
    assert "--hicache-size" in type_.out


def test_a_bad_pattern_is_one_error_and_exit_2(type_: Shell) -> None:
    assert type_("[a") is Exit.USAGE
    assert type_.out == ""
    error, hint = type_.err.splitlines()
    assert error.startswith("error: node-171: grep refuses the pattern: ")
    assert "-F takes it as plain text" in hint


@pytest.mark.parametrize(
    "words", [("x", "--limit", "-1"), ("x", "--limit", "many"), ("x", "-C", "²"), ("x", "-E", "-F"), ()]
)
def test_wrong_usage_contacts_nobody(type_: Shell, words: tuple[str, ...]) -> None:
    assert type_(*words) is Exit.USAGE
    assert type_.out == ""
    assert type_.err.startswith("error: ")


def test_a_path_can_be_searched_on_a_hypervisor_too(type_: Shell, tmp_path: Path) -> None:
    (tmp_path / "tasks").write_text("UPID:pve-01:vzdump\n")
    assert type_("vzdump", "pve-01", "--path", str(tmp_path)) is Exit.FINE
    assert type_.out == "pve-01   1 line in 1 file\n  tasks:1   UPID:pve-01:vzdump\n"


def test_a_folder_that_is_not_there_was_asked_for(type_: Shell, tmp_path: Path) -> None:
    assert type_("x", "@alive", "--path", f"{tmp_path}/nowhere") is Exit.UNKNOWN
    assert (
        type_.out
        == f"node-[171-172]   not searched   cannot search {tmp_path}/nowhere: no such file or folder\n"
    )
    type_("x", "node-171", "--path", f"{tmp_path}/nowhere", "--json")
    assert type_.body["unreachable"][0]["reached"] is True


def test_a_relative_path_is_refused_before_anybody_is_asked(type_: Shell) -> None:
    assert type_("x", "--path", "srt/managers") is Exit.USAGE
    assert "'srt/managers' is relative" in type_.err
    assert "the whole path" in type_.err


def test_the_engines_source_is_on_nodes_only(type_: Shell) -> None:
    assert type_("vzdump", "pve-01") is Exit.USAGE


def test_without_hosts_a_path_is_searched_on_the_nodes(type_: Shell, tmp_path: Path) -> None:
    type_("vzdump", "--path", str(tmp_path), "--json")
    assert type_.body["answers"][0]["hosts"] == ["node-171", "node-172"]
