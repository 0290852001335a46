"""Many nodes at once: one trace for all that run the same files, and silence costs only itself."""

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from explain_scenes import Kept, proven
from local_session import LocalSession
from pytest_mock import MockerFixture

from fleetops.fleet import explain_nodes as module
from fleetops.fleet.explain_nodes import exit_code, explain_nodes
from fleetops.fleet.explain_size import node_size
from fleetops.model.command import Command, Outcome
from fleetops.model.errors import Unreachable
from fleetops.model.exit import Exit
from fleetops.model.explained import ExplainReport, NodeAnswer, NodeSize, Unexplained
from fleetops.model.fleet import Flag, Host, Inventory, Node, Profile
from fleetops.model.session import Session
from fleetops.sizing.budget import Room, Rooms
from fleetops.source import trace

MEMINFO = "MemTotal: 438476562 kB\nMemFree: 1 kB\nMemAvailable: 434570313 kB\nShmem: 0 kB\n"


class Host445(LocalSession):
    """This machine, with the incident node's memory."""

    def run(self, command: Command, on_output: Callable[[str], None] | None = None) -> Outcome:
        if command.argv == ("cat", "/proc/meminfo"):
            return Outcome(status=0, stdout=MEMINFO)
        return super().run(command)


class Fleet:
    """Hosts of which some do not answer, or not any more."""

    def __init__(self, *silent: str, dies_after: int = 1000) -> None:
        self.silent = silent
        self.dies_after = dies_after
        self.sessions: dict[str, LocalSession] = {}

    def session(self, host: Host) -> Session:
        asked = self.sessions.setdefault(host.name, Host445(host.name))
        if host.name in self.silent and len(asked.ran) >= self.dies_after:
            raise Unreachable(f"{host.name} does not answer", hint="look at its hypervisor", host=host.name)
        return asked


PROFILE = Profile(
    name="hicache300",
    engine="sglang",
    model="/models/example",
    ranks=8,
    port=30000,
    flags=(Flag(name="hicache_size", value=300),),
)


def fleet_of(*nodes: tuple[str, Path | str], profile: str = "hicache300") -> Inventory:
    found = {
        name: Node(name=name, address="127.0.0.1", source=str(source), profile=profile)
        for name, source in nodes
    }
    return Inventory(path=Path("/x"), nodes=found, profiles={"hicache300": PROFILE})


def ask(
    fleet: Fleet,
    inventory: Inventory,
    flag: str = "hicache_size",
    cache: Kept | None = None,
    **options: object,
) -> ExplainReport:
    nodes: Sequence[Node] = list(inventory.nodes.values())
    return explain_nodes(fleet, inventory, nodes, flag, cache or Kept(), **options)  # type: ignore[arg-type]


def test_nodes_with_the_same_files_share_one_trace(package: Path, mocker: MockerFixture) -> None:
    tracer = mocker.spy(module, "explain_remotely")
    inventory = fleet_of(*((f"node-17{number}", package) for number in (4, 1, 2)))
    report = ask(Fleet(), inventory)
    assert [answer.host for answer in report.answers] == ["node-174", "node-171", "node-172"]
    assert len({answer.explanation for answer in report.answers}) == 1
    assert report.answers[0].explanation.version == "0.5.9"
    assert tracer.call_count == 1
    assert exit_code(report) is Exit.FINE


def test_where_the_source_lies_what_it_is_and_the_memory_are_one_round_trip(
    package: Path, mocker: MockerFixture
) -> None:
    batches = mocker.spy(LocalSession, "batch")
    ask(Fleet(), fleet_of(("node-174", package)))
    assert [len(call.args[1]) for call in batches.call_args_list] == [3]


def test_a_second_question_is_answered_from_what_was_proven(package: Path, mocker: MockerFixture) -> None:
    cache, inventory = Kept(), fleet_of(("node-174", package))
    first = ask(Fleet(), inventory, cache=cache)
    fleet, tracer = Fleet(), mocker.spy(trace, "explain")
    assert ask(fleet, inventory, cache=cache).answers == first.answers
    tracer.assert_not_called()
    assert (
        len(fleet.sessions["node-174"].ran) == 3
    )  # the batch of two (meminfo is answered here), the interpreter


def test_a_patched_node_has_an_answer_of_its_own(package: Path, tmp_path: Path) -> None:
    other = tmp_path / "patched/sglang"
    shutil.copytree(package, other)
    pool = other / "srt/mem_cache/memory_pool_host.py"
    pool.write_text(pool.read_text().replace("1e9", "(1 << 30)"))
    report = ask(Fleet(), fleet_of(("node-174", package), ("node-175", other), ("node-176", package)))
    assert [answer.explanation.unit for answer in report.answers] == ["GB", "GiB", "GB"]


def test_the_same_files_of_another_release_keep_its_number(site: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(site / "sglang", other / "sglang")
    (other / "sglang-0.5.9+local.dist-info").mkdir()
    report = ask(Fleet(), fleet_of(("node-174", site), ("node-175", other)))
    assert [answer.explanation.version for answer in report.answers] == ["0.5.9", "0.5.9+local"]


def test_a_silent_node_costs_only_its_own_answer(package: Path) -> None:
    report = ask(Fleet("node-175", dies_after=0), fleet_of(("node-175", package), ("node-174", package)))
    assert [answer.host for answer in report.answers] == ["node-174"]
    assert report.unreachable == (
        Unexplained(host="node-175", error="node-175 does not answer", hint="look at its hypervisor"),
    )
    assert exit_code(report) is Exit.UNKNOWN


def test_one_that_dies_while_it_is_read_leaves_the_trace_to_the_next(package: Path) -> None:
    fleet = Fleet("node-174", dies_after=3)
    report = ask(fleet, fleet_of(("node-174", package), ("node-175", package)))
    assert [answer.host for answer in report.answers] == ["node-175"]
    assert report.answers[0].explanation.is_proven
    assert [silent.host for silent in report.unreachable] == ["node-174"]


def test_a_node_without_the_engine_says_what_to_do(tmp_path: Path, package: Path) -> None:
    (tmp_path / "empty").mkdir()
    report = ask(Fleet(), fleet_of(("node-174", tmp_path / "empty"), ("node-175", package)))
    (silent,) = report.unreachable
    assert silent.reached
    assert f"no SGLang source found: no package sglang in {tmp_path}/empty" in silent.error
    assert "source:" in silent.hint
    assert exit_code(report) is Exit.UNKNOWN


def importing(package: Path, inventory: Inventory, *, source: str = "") -> Inventory:
    """The same nodes, whose profile's own interpreter imports the package from here; the inventory names `source`."""
    profile = replace(PROFILE, command=(sys.executable,), environment={"PYTHONPATH": str(package.parent)})
    nodes = {name: replace(node, source=source) for name, node in inventory.nodes.items()}
    return replace(inventory, nodes=nodes, profiles={"hicache300": profile})


def patched(package: Path, tmp_path: Path) -> Path:
    other = tmp_path / "patched/sglang"
    shutil.copytree(package, other)
    pool = other / "srt/mem_cache/memory_pool_host.py"
    pool.write_text(pool.read_text().replace("1e9", "(1 << 30)"))
    return other


def test_the_source_that_the_nodes_profile_would_run_is_the_one_that_is_read(
    package: Path, tmp_path: Path, mocker: MockerFixture
) -> None:
    mocker.patch.dict("os.environ", {"HOME": str(package.parent)})
    inventory = importing(patched(package, tmp_path), fleet_of(("node-174", package)))
    (answer,) = ask(Fleet(), inventory).answers
    assert answer.folder == str(tmp_path / "patched/sglang")
    assert answer.explanation.unit == "GiB"


def test_a_source_that_a_launch_would_not_take_is_told_with_what_it_would_run(
    package: Path, tmp_path: Path
) -> None:
    other = patched(package, tmp_path)
    (answer,) = ask(Fleet(), importing(other, fleet_of(("node-174", package)), source=str(package))).answers
    assert (answer.explanation.unit, answer.folder) == ("GB", str(package))
    note = answer.explanation.notes[-1]
    assert note.startswith("a launch of hicache300 does not take this source: ")
    assert str(other) in note


def test_a_node_without_a_profile_is_read_where_it_is_found(package: Path) -> None:
    (answer,) = ask(Fleet(), fleet_of(("node-174", package), profile="")).answers
    assert answer.explanation.notes == ()


def test_an_engine_that_nobody_described_is_named() -> None:
    inventory = Inventory(
        path=Path("/x"), nodes={"node-1": Node(name="node-1", address="127.0.0.1", engine="trtllm")}
    )
    (silent,) = ask(Fleet(), inventory).unreachable
    assert "trtllm" in silent.error
    assert "sglang" in silent.hint


def test_another_package_can_be_looked_at(site: Path, tmp_path: Path, mocker: MockerFixture) -> None:
    locate = mocker.spy(module.engine_source, "fact")
    ask(Fleet(), fleet_of(("node-174", site)), engine="lmcache")
    assert locate.call_args.args == ("lmcache", "")


def test_each_answer_tells_who_is_still_waited_for(package: Path) -> None:
    told: list[set[str]] = []
    inventory = fleet_of(("node-171", package), ("node-172", package), ("node-173", package))
    ask(Fleet("node-172", dies_after=0), inventory, on_answer=told.append)
    assert told[-1] == set()
    assert {"node-171", "node-173"} in told


def test_no_such_flag_anywhere_is_1(package: Path) -> None:
    report = ask(Fleet(), fleet_of(("node-174", package)), "hicache_sizes")
    assert report.answers[0].explanation.verdict == "no-such-flag"
    assert exit_code(report) is Exit.FINDINGS


def test_what_the_number_comes_to_on_the_node(package: Path) -> None:
    (answer,) = ask(Fleet(), fleet_of(("node-174", package))).answers
    assert answer.folder == str(package)
    size = answer.size
    assert size
    assert (size.profile, size.ranks, size.unit, size.asked) == ("hicache300", 8, "GB", 300)
    assert size.asked_bytes == 2400 * 10**9
    assert size.available_bytes == 434570313 * 1024
    assert size.fits == 48


def test_a_node_without_a_profile_has_no_size(package: Path) -> None:
    (answer,) = ask(Fleet(), fleet_of(("node-174", package), profile="")).answers
    assert answer.size is None


ROOMS = Rooms(rooms=(Room(label="MemAvailable", size_bytes=445 * 10**9),))


def test_a_value_left_to_the_sizing_and_one_left_out_only_say_what_fits() -> None:
    for flags in ((Flag(name="hicache_size", value="auto"),), ()):
        size = node_size(proven(), replace(PROFILE, flags=flags), ROOMS)
        assert size == NodeSize(
            profile="hicache300",
            ranks=8,
            unit="GB",
            asked=None,
            asked_bytes=None,
            available_bytes=445 * 10**9,
            fits=48,
        )


def test_every_rank_of_the_node_counts_not_only_the_tensor_parallel_ones() -> None:
    flags = (*PROFILE.flags, Flag(name="pp_size", value=2))
    size = node_size(proven(), replace(PROFILE, flags=flags), ROOMS)
    assert size
    assert (size.ranks, size.asked_bytes, size.fits) == (16, 4800 * 10**9, 24)


def test_pools_that_take_it_twice_count_twice() -> None:
    size = node_size(proven(simultaneous=2), PROFILE, ROOMS)
    assert size
    assert (size.asked_bytes, size.fits) == (4800 * 10**9, 24)


def test_the_cgroup_counts_where_it_is_tighter() -> None:
    tight = Rooms(rooms=(*ROOMS.rooms, Room(label="cgroup", size_bytes=100 * 10**9)))
    size = node_size(proven(), PROFILE, tight)
    assert size
    assert (size.available_bytes, size.fits) == (100 * 10**9, 5)


@pytest.mark.parametrize(
    ("explanation", "profile", "rooms"),
    [
        (proven(verdict="unproven"), PROFILE, ROOMS),
        (proven(), None, ROOMS),
        (proven(engine="lmcache"), PROFILE, ROOMS),
        (proven(unit="ratio"), PROFILE, ROOMS),
        (proven(), PROFILE, Rooms(rooms=())),
    ],
    ids=["unproven", "no profile", "another engine's", "no size in bytes", "memory not read"],
)
def test_where_nothing_tells_what_it_comes_to_nothing_is_said(
    explanation: object, profile: Profile | None, rooms: Rooms
) -> None:
    assert node_size(explanation, profile, rooms) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("verdicts", "silent", "code"),
    [
        (["proven"], 0, 0),
        (["proven", "no-such-flag"], 0, 1),
        (["proven", "no-such-flag", "unproven"], 0, 3),
        (["proven"], 1, 3),
        ([], 1, 3),
    ],
)
def test_the_worst_of_all_answers_is_the_exit_code(verdicts: list[str], silent: int, code: int) -> None:
    report = ExplainReport(
        flag="hicache_size",
        answers=tuple(NodeAnswer(host="a", explanation=proven(verdict=verdict)) for verdict in verdicts),
        unreachable=tuple(Unexplained(host="b", error="no route") for _ in range(silent)),
    )
    assert exit_code(report) == code
