"""Reading the source on a node: the same digest and the same answer as in a folder, and only what matters travels."""

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from explain_scenes import Kept
from local_session import LocalSession
from pytest_mock import MockerFixture

from fleetops.fleet.explain import explain_tree
from fleetops.fleet.local_tree import LocalTree
from fleetops.model.command import Command, Outcome
from fleetops.model.errors import FleetopsError
from fleetops.model.proof import Explanation
from fleetops.source import trace, transport
from fleetops.source.packages import package as known
from fleetops.source.transport import explain_remotely, read_digest
from fleetops.source.transport_answers import (
    Fetched,
    digest_command,
    fetch_command,
    parse_digest,
    parse_fetch,
)

SGLANG = known("sglang")


@dataclass
class Node:
    """This machine as a node, with a look at what is asked of it."""

    session: LocalSession = field(default_factory=LocalSession)
    before: Callable[[Command], None] = lambda _: None

    def __call__(self, command: Command) -> Outcome:
        self.before(command)
        return self.session.run(command)

    @property
    def trips(self) -> int:
        return len(self.session.ran)


def explain(ask: Callable[[Command], Outcome], folder: Path, cache: Kept, **options: object) -> Explanation:
    return explain_remotely(ask, str(folder), SGLANG, "hicache_size", version="0.5.9", cache=cache, **options)  # type: ignore[arg-type]


def fetch(folder: Path, *names: str, known: tuple[str, ...] = ()) -> Fetched:
    return parse_fetch(LocalSession().run(fetch_command(str(folder), names, known)), str(folder))


ODD_NAMES = ["x.py", "-e.py", "a b.py", "'q\".py", "back\\slash.py", "$(id).py", "*.py", "ünï.py", "`x`.py"]


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A tree whose names a shell could trip over."""
    tree = tmp_path / "odd $(tree)/sglang"
    (tree / "sub folder").mkdir(parents=True)
    for name in ODD_NAMES:
        (tree / "sub folder" / name).write_text(f"hicache_size = {name!r}\r\n")
    (tree / os.fsdecode(b"\xff.py")).write_bytes(b"\xff hicache_size \x00\n")
    (tree / "line\nbreak.py").write_text("x = 1\n")
    (tree / "other.py").write_text("hicache_sizes, my_hicache_size\n")
    return tree


def test_the_digest_is_that_of_the_folder(odd: Path, package: Path) -> None:
    for folder in (odd, package):
        told = read_digest(Node(), str(folder))
        tree = LocalTree(folder, "sglang")
        assert (told.digest, told.files, told.gaps) == (tree.digest, len(tree), ())


def test_links_and_loops_are_the_same_on_both_sides(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far/pool.py").write_text("host_size\n")
    tree = tmp_path / "sglang"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub/loop").symlink_to("..")
    (tree / "self.py").symlink_to("self.py")
    (tree / "linked").symlink_to("../far")
    (tree / "broken.py").symlink_to("nowhere.py")
    os.mkfifo(tree / "pipe.py")
    told = read_digest(Node(), str(tree))
    assert (told.digest, told.gaps) == (LocalTree(tree, "sglang").digest, ())
    assert list(fetch(tree, "host_size").sums) == ["linked/pool.py"]


def test_odd_names_survive_and_no_shell_reads_them(odd: Path) -> None:
    fetched = fetch(odd, "hicache_size")
    expected = {f"sub folder/{name}" for name in ODD_NAMES} | {os.fsdecode(b"\xff.py")}
    assert set(fetched.sums) == expected
    tree = LocalTree(odd, "sglang")
    assert {path: tree.sha256(path) for path in expected} == fetched.sums
    assert set(fetched.contents) == set(fetched.sums.values())
    assert fetched.odd == ""


def test_a_name_with_a_line_break_is_told_where_it_matters(odd: Path) -> None:
    (odd / "line\nbreak.py").write_text("hicache_size = 1\n")
    assert fetch(odd, "hicache_size").odd == "./line?break.py"
    assert fetch(odd, "host_size").odd == ""


def test_what_is_known_does_not_travel_again(odd: Path) -> None:
    everything = fetch(odd, "hicache_size")
    known = tuple(sorted(everything.contents))[:4]
    again = fetch(odd, "hicache_size", known=known)
    assert again.sums == everything.sums
    assert set(again.contents) == set(everything.contents) - set(known)
    assert fetch(odd, "hicache_size", known=tuple(everything.contents)).contents == {}


def test_equal_files_travel_once(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("host_size\n")
    fetched = fetch(tmp_path, "host_size")
    assert (len(fetched.sums), len(fetched.contents)) == (2, 1)


def test_nothing_mentions_it(package: Path) -> None:
    assert fetch(package, "no_such_name") == Fetched(sums={}, contents={})


def test_a_file_too_large_is_told_where_it_matters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "giant.py").write_bytes(b"#\n" * (8 * 2**20) + b"hicache_size\n")
    (tmp_path / "a.py").write_text("hicache_size\n")
    fetched = fetch(tmp_path, "hicache_size")
    assert list(fetched.sums) == ["a.py"]
    assert fetched.odd == "./giant.py"


def test_too_much_is_an_error(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleetops.source.transport_answers.FETCH_BYTES", 100)
    with pytest.raises(FleetopsError, match="too much of the source"):
        fetch(package, "hicache_size")


def test_the_answer_is_that_of_the_folder(package: Path) -> None:
    near = explain_tree(LocalTree(package, "sglang", "0.5.9"), "hicache_size", Kept())
    node, cache = Node(), Kept()
    assert explain(node, package, cache) == near
    assert near.verdict == "proven"
    travelled = sum(len(outcome_argv.stdin) for outcome_argv in node.session.ran)
    assert node.trips < 12
    assert travelled < 100_000


def test_files_that_do_not_matter_stay_where_they_are(package: Path) -> None:
    (package / "srt/unrelated.py").write_text("def other():\n    return 1\n")
    contents: dict[str, bytes] = {}
    explain(Node(), package, Kept(), files=contents)
    texts = [data.decode() for data in contents.values()]
    assert any("hicache_size: int = 0" in text for text in texts)
    assert not any("def other" in text for text in texts)


def test_what_was_proven_before_costs_one_round_trip_and_no_trace(
    package: Path, mocker: MockerFixture
) -> None:
    cache = Kept()
    first = explain(Node(), package, cache)
    node, tracer = Node(), mocker.spy(trace, "explain")
    again = explain_remotely(node, str(package), SGLANG, "hicache_size", version="0.5.9+local", cache=cache)
    assert node.trips == 1
    tracer.assert_not_called()
    assert (again.version, again.proof) == ("0.5.9+local", first.proof)


def test_another_node_with_nearly_the_same_files_sends_the_difference(package: Path) -> None:
    contents: dict[str, bytes] = {}
    explain(Node(), package, Kept(), files=contents)
    before = len(contents)
    with (package / "srt/server_args.py").open("a") as file:
        file.write("# patched\n")
    explain(Node(), package, Kept(), files=contents)
    assert len(contents) == before + 1


def change(file: Path, times: int) -> Callable[[Command], None]:
    """Somebody installs there: the file changes before each of the first fetches."""
    left = [times]

    def before(command: Command) -> None:
        if command.argv[2] == fetch_command("", (), ()).argv[2] and left[0]:
            left[0] -= 1
            with file.open("a") as source:
                source.write("# another\n")

    return before


def test_a_tree_that_changes_once_is_read_again(package: Path) -> None:
    cache = Kept()
    node = Node(before=change(package / "srt/managers/scheduler.py", 1))
    told = explain(node, package, cache)
    assert told.verdict == "proven"
    assert told.tree_sha256 == LocalTree(package, "sglang").digest
    assert list(cache.proofs) == [("sglang", "hicache_size", told.tree_sha256)]


def test_a_tree_that_goes_on_changing_is_unproven_and_says_so(package: Path) -> None:
    cache = Kept()
    told = explain(Node(before=change(package / "srt/managers/scheduler.py", 1000)), package, cache)
    assert told.verdict == "unproven"
    assert "changed while it was read" in (told.unproven_because or "")
    assert not cache.proofs


@pytest.mark.parametrize("verdict", ["hicache_size", "no_such_flag"])
def test_what_could_not_be_read_makes_it_unproven_and_is_not_kept(package: Path, verdict: str) -> None:
    def ask(command: Command) -> Outcome:
        told = LocalSession().run(command)
        said = "sha256sum: ./srt/secret.py: Permission denied\n"
        return Outcome(status=told.status, stdout=told.stdout, stderr=said)

    cache = Kept()
    told = explain_remotely(ask, str(package), SGLANG, verdict, version="", cache=cache)
    assert told.verdict == "unproven"
    assert told.unproven_because == "part of the source could not be read: ./srt/secret.py: Permission denied"
    assert not cache.proofs


def test_a_wrong_name_is_answered_with_the_nearest(package: Path) -> None:
    told = explain_remotely(Node(), str(package), SGLANG, "hicache_sizes", version="", cache=Kept())
    assert told.verdict == "no-such-flag"
    assert told.notes == ("did you mean hicache_size?",)


def test_no_folder_and_no_source_are_errors(tmp_path: Path) -> None:
    with pytest.raises(FleetopsError, match=f"there is no folder {tmp_path}/nowhere"):
        read_digest(Node(), f"{tmp_path}/nowhere")
    with pytest.raises(FleetopsError, match="there is no Python source"):
        read_digest(Node(), str(tmp_path))


@pytest.mark.parametrize(
    ("outcome", "message"),
    [
        (Outcome(status=None, timed_out=True), "could not be read in 60 s"),
        (Outcome(status=0, stdout="files 3\n"), "to its end"),
        (Outcome(status=127, stderr="sh: find: not found"), "find: not found"),
        (Outcome(status=0, stdout="end\n", stderr="sh: sha256sum: not found"), "sha256sum: not found"),
        (Outcome(status=0, stdout="files 3\n" + "a" * 64 + "  -\nend\n", truncated=True), "to its end"),
    ],
)
def test_a_digest_that_is_not_whole(outcome: Outcome, message: str) -> None:
    with pytest.raises(FleetopsError, match=message):
        parse_digest(outcome, "/x")


@pytest.mark.parametrize(
    ("stdout", "message"),
    [
        ("", "to its end"),
        ("what is this\nend\n", "makes no sense"),
        (f"{'a' * 64}  ./a.py\nsizes\n3\ncontent\nnot base64!\nend\n", "damaged"),
        (f"{'a' * 64}  ./a.py\nsizes\n3\ncontent\naGVsbG8=\nend\n", "damaged"),
    ],
)
def test_an_answer_that_is_not_whole(stdout: str, message: str) -> None:
    with pytest.raises(FleetopsError, match=message):
        parse_fetch(Outcome(status=0, stdout=stdout), "/x")


def test_a_content_that_is_not_what_was_announced_does_not_count(package: Path) -> None:
    """Between its hash and its content a file was changed: whatever comes is kept under what it is."""
    whole = LocalSession().run(fetch_command(str(package), ("hicache_size",), ()))
    first = whole.stdout[:64]
    lied = Outcome(status=0, stdout=whole.stdout.replace(first, "0" * 64, 1))
    told = parse_fetch(lied, str(package))
    assert "0" * 64 in told.sums.values()
    assert "0" * 64 not in told.contents


def test_a_trail_that_never_ends_is_an_error(package: Path, mocker: MockerFixture) -> None:
    def endless(flag: str, tree: object, _: object) -> Explanation:
        tree.mentioning(f"name{len(tree.mentions)}")  # type: ignore[attr-defined]
        return Explanation(flag=flag, engine="sglang", version="", verdict="unproven")

    mocker.patch.object(transport, "_ROUNDS", 3)
    mocker.patch.object(trace, "explain", side_effect=endless)
    with pytest.raises(FleetopsError, match="does not end after 3 rounds"):
        explain(Node(), package, Kept())


def test_the_scripts_are_plain_posix() -> None:
    for command in (digest_command("/x"), fetch_command("/x", ("a",), ())):
        checked = subprocess.run(
            ["sh", "-n"], input=command.argv[2], text=True, capture_output=True, check=False
        )
        assert (checked.returncode, checked.stderr) == (0, "")
        assert not command.changes
