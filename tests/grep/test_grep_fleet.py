"""The search over many hosts: one round trip each, answers in the inventory's order, silence costs only itself."""

from pathlib import Path

import pytest
from local_host import LocalSession, make_tree

from fleetops.fleet.grep import exit_code, grep_hosts
from fleetops.model.errors import Unreachable, UsageError
from fleetops.model.exit import Exit
from fleetops.model.fleet import Host, Hypervisor, Node
from fleetops.model.grep import GrepReport, NotAsked, SourceAnswer
from fleetops.model.session import Session
from fleetops.source.search import Search


class Fleet:
    """Hosts of which some do not answer."""

    def __init__(self, *silent: str) -> None:
        self.silent = silent
        self.sessions: dict[str, LocalSession] = {}

    def session(self, host: Host) -> Session:
        if host.name in self.silent:
            raise Unreachable(f"{host.name} does not answer", hint="look at its hypervisor", host=host.name)
        return self.sessions.setdefault(host.name, LocalSession(host.name))


def node(name: str, source: Path | str = "") -> Node:
    return Node(name=name, address="127.0.0.1", source=str(source))


def hosts_of(report: GrepReport) -> list[str]:
    return [host for host, _ in report.answers]


SIZE = Search(pattern="hicache_size")


def test_equal_nodes_give_equal_answers_in_the_inventorys_order(tree: Path) -> None:
    nodes = [node(f"node-{number}", tree) for number in (174, 171, 172)]
    report = grep_hosts(Fleet(), nodes, SIZE)
    assert hosts_of(report) == ["node-174", "node-171", "node-172"]
    ((_, first), *others) = report.answers
    assert (first.engine, first.engine_title, first.version) == ("sglang", "SGLang", "0.5.9")
    assert first.total == 4
    assert all(answer == first for _, answer in others)
    assert exit_code(report) is Exit.FINE


@pytest.mark.parametrize("kind", ["package", "parent"])
def test_a_folder_that_the_inventory_names_costs_one_round_trip(tree: Path, kind: str) -> None:
    fleet = Fleet()
    report = grep_hosts(fleet, [node("node-174", tree if kind == "package" else tree.parent)], SIZE)
    assert report.answers[0][1].total == 4
    assert [len(trip) for trip in fleet.sessions["node-174"].trips] == [2]


def test_paths_are_relative_to_the_package_wherever_it_lies(tmp_path: Path) -> None:
    package = make_tree(tmp_path / "sglang" / "sglang")
    fleet = Fleet()
    report = grep_hosts(fleet, [node("node-174", package.parent)], SIZE)
    assert {line.file for line in report.answers[0][1].lines} == {
        "README.md",
        "srt/mem_cache/hiradix_cache.py",
        "srt/server_args.py",
    }


def test_another_release_is_another_answer(tree: Path, tmp_path: Path) -> None:
    newer = make_tree(tmp_path / "sglang", version="0.5.10")
    report = grep_hosts(Fleet(), [node("node-174", tree), node("node-175", newer)], SIZE)
    (_, one), (_, other) = report.answers
    assert (one.version, other.version) == ("0.5.9", "0.5.10")
    assert one.lines == other.lines


def test_each_answer_tells_who_is_still_waited_for(tree: Path) -> None:
    told: list[set[str]] = []
    nodes = [node(f"node-{number}", tree) for number in (171, 172, 173)]
    grep_hosts(Fleet("node-172"), nodes, SIZE, on_answer=told.append)
    assert [len(left) for left in told] == [2, 1, 0]


def test_a_silent_node_costs_only_its_own_answer(tree: Path) -> None:
    report = grep_hosts(Fleet("node-175"), [node("node-175", tree), node("node-174", tree)], SIZE)
    assert hosts_of(report) == ["node-174"]
    assert report.unreachable == (
        NotAsked(host="node-175", error="node-175 does not answer", hint="look at its hypervisor"),
    )
    assert exit_code(report) is Exit.UNKNOWN


def test_a_node_without_the_engine_is_not_asked_and_says_what_to_do(tmp_path: Path) -> None:
    report = grep_hosts(Fleet(), [node("node-174", tmp_path)], SIZE)
    (silent,) = report.unreachable
    assert f"no package sglang in {tmp_path}" in silent.error
    assert "source:" in silent.hint
    assert exit_code(report) is Exit.UNKNOWN


def test_another_path_is_searched_as_it_is_on_any_host(tmp_path: Path) -> None:
    (tmp_path / "sglang.log").write_text("Allocating 300.00 GB host memory\n")
    hosts = [node("node-174"), Hypervisor(name="pve-01", address="127.0.0.1")]
    report = grep_hosts(Fleet(), hosts, Search(pattern="Allocating.*host memory"), path=str(tmp_path))
    assert [(host, answer.total, answer.engine) for host, answer in report.answers] == [
        ("node-174", 1, ""),
        ("pve-01", 1, ""),
    ]


def test_a_bad_pattern_is_one_usage_error_however_many_nodes_refuse_it(tree: Path) -> None:
    with pytest.raises(UsageError, match="grep refuses the pattern"):
        grep_hosts(Fleet("node-1"), [node("node-1", tree), node("node-2", tree)], Search(pattern="[a"))


def test_greps_warning_is_said_once_for_all(tree: Path) -> None:
    nodes = [node("node-171", tree), node("node-172", tree)]
    assert len(grep_hosts(Fleet(), nodes, Search(pattern=r"\hicache")).warnings) <= 1


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (
            GrepReport(
                answers=(("a", SourceAnswer(total=1, files=1)), ("b", SourceAnswer(total=0, files=0)))
            ),
            0,
        ),
        (GrepReport(answers=(("a", SourceAnswer(total=0, files=0)),)), 1),
        (GrepReport(answers=()), 1),
        (GrepReport(answers=(("a", SourceAnswer(total=1, files=1, unread=("b.py: denied",))),)), 3),
        (GrepReport(answers=(), unreachable=(NotAsked(host="a", error="no route"),)), 3),
    ],
)
def test_the_exit_code_says_found_nothing_or_not_known(report: GrepReport, code: int) -> None:
    assert exit_code(report) == code
