"""No pattern, glob or folder can run anything on a node: whatever they hold, a real `sh` finds lines and no more."""

import contextlib
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fleetops.model.command import Command, Outcome
from fleetops.model.errors import FleetopsError, UsageError
from fleetops.model.grep import SourceAnswer
from fleetops.source.search import Search, parse_search, search_command
from fleetops.ssh.quote import command_line

NONCE = "0123456789abcdef"
# What would show itself if any layer (the remote shell, the script, xargs, awk, grep's options) took it for code.
SPITEFUL = [
    "$(touch ran)",
    "`touch ran`",
    "';touch ran;'",
    '";touch ran;"',
    "\n touch ran\n",
    "|touch ran",
    "&&touch ran",
    "-f/etc/passwd",
    "--file=/etc/passwd",
    "--",
    "-e",
    "-r",
    "$1",
    "${6}",
    "%s%n",
    "\\",
    "\\\\0",
    "*",
    "~",
    "!!",
    "\x01",
    "\x1b[m",
    "\r",
    "\t",
    " ",
    "ünï",
    "\udcff",
    '" ) ; system("touch ran") #',
    "EOF\n",
]


def _encodes(word: str) -> bool:
    try:
        return len(word.encode("utf-8", "surrogateescape")) < 200
    except UnicodeEncodeError:
        return False


pieces = st.one_of(st.sampled_from(SPITEFUL), st.text(st.characters(exclude_characters="\0"), max_size=4))
words = st.lists(pieces, max_size=4).map("".join).filter(_encodes)
names = words.map(lambda word: word.replace("/", "_")[:60]).filter(lambda name: name not in {"", ".", ".."})


@pytest.fixture(scope="module")
def node() -> Iterator[Path]:
    """A login's home with one file to find things in."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "source").mkdir()
        lines = [*(text.replace("\n", " ") for text in SPITEFUL), "plain hicache_size\n"]
        (home / "source" / "a.py").write_bytes(b"\n".join(_bytes(line) for line in lines))
        yield home


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def through_sh(command: Command, home: Path) -> Outcome:
    """Run it as it is run on a host: quoted, by a login's shell, in its home."""
    ran = subprocess.run(
        ["sh", "-c", command_line(command, NONCE)],
        capture_output=True,
        cwd=home,
        timeout=30,
        check=False,
    )
    out, err = (data.decode("utf-8", "surrogateescape") for data in (ran.stdout, ran.stderr))
    mark, _, out = out.partition("\n")
    assert mark.startswith(f"{NONCE}:")
    return Outcome(status=ran.returncode, stdout=out, stderr=err.removeprefix(f"{NONCE}:\n"))


def search(node: Path, folder: str, **options: object) -> SourceAnswer:
    before = sorted(node.rglob("*"))
    wanted = Search(**options)  # type: ignore[arg-type]
    outcome = through_sh(search_command(wanted, folder), node)
    assert sorted(node.rglob("*")) == before, "something ran"
    return parse_search(outcome, folder).answer


@given(pattern=words)
@example(pattern="$(touch ran)")
@example(pattern="-f/etc/passwd")
@example(pattern="\n")
@settings(max_examples=60, deadline=None)
def test_a_fixed_pattern_matches_itself_and_nothing_else(node: Path, pattern: str) -> None:
    found = search(node, "source", pattern=pattern, syntax="fixed", limit=1000)
    lines = (node / "source" / "a.py").read_bytes().removesuffix(b"\n").split(b"\n")
    alternatives = [_bytes(part) for part in pattern.split("\n")]
    matching = sum(any(part in line for part in alternatives) for line in lines)
    # Half a character is no character to grep.
    assert found.total == matching if pattern.isascii() else found.total <= matching


@given(pattern=words, syntax=st.sampled_from(["basic", "extended"]), ignore_case=st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_pattern_never_runs_anything(node: Path, pattern: str, syntax: str, ignore_case: bool) -> None:
    with contextlib.suppress(UsageError):
        search(node, "source", pattern=pattern, syntax=syntax, ignore_case=ignore_case, context=1)


@given(glob=words, kind=st.sampled_from(["include", "exclude", "exclude_dir"]))
@settings(max_examples=40, deadline=None)
def test_a_glob_never_runs_anything(node: Path, glob: str, kind: str) -> None:
    assert search(node, "source", pattern="hicache_size", **{kind: (glob,)}).total in {0, 1}


@given(folder=names)
@example(folder="-")
@example(folder="--help")
@example(folder="$(touch ran)")
@example(folder="(")
@settings(max_examples=40, deadline=None)
def test_a_folder_is_only_ever_a_folder(node: Path, folder: str) -> None:
    with pytest.raises(FleetopsError, match="no such file or folder"):
        search(node, folder, pattern="x")
    path = node / folder
    path.mkdir()
    try:
        (path / "-n.py").write_text("one hit\n")
        (line,) = search(node, folder, pattern="hit").lines
        assert (line.file, line.text) == ("-n.py", "one hit")
    finally:
        (path / "-n.py").unlink()
        path.rmdir()


@given(name=names)
@settings(max_examples=40, deadline=None)
def test_a_file_on_the_node_is_only_ever_read(node: Path, name: str) -> None:
    with tempfile.TemporaryDirectory(dir=node) as folder:
        path = Path(folder) / name
        path.write_text("one hit\n")
        found = search(node, folder, pattern="hit")
        if re.search("[\n\x01]", name):
            assert found.unread[0].endswith("control characters in its name")
        else:
            assert (found.total, found.lines[0].file) == (1, name)
