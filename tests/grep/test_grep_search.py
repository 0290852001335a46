"""The search on a node: what it finds is what `grep -rn` finds, cut and counted there. A real sh and grep run it."""

import os
import subprocess
from pathlib import Path

import pytest
from local_host import LocalSession

from fleetops.model.command import Command, Outcome
from fleetops.model.errors import FleetopsError, UsageError
from fleetops.model.grep import SourceAnswer, SourceLine
from fleetops.source.search import (
    ANSWER_BYTES,
    DEADLINE_S,
    LINE_BYTES,
    Found,
    Search,
    parse_search,
    search_command,
)

INCIDENT = r"Allocating.*host memory\|hicache_size"
CACHES = ("--exclude-dir=__pycache__", "--exclude-dir=.git", "--exclude=*.pyc")


def find(session: LocalSession, folder: Path | str, pattern: str, **options: object) -> Found:
    search = Search(pattern=pattern, **options)  # type: ignore[arg-type]
    return parse_search(session.run(search_command(search, str(folder))), str(folder))


def answer(session: LocalSession, folder: Path | str, pattern: str, **options: object) -> SourceAnswer:
    return find(session, folder, pattern, **options).answer


def places(found: SourceAnswer) -> list[str]:
    return [f"{line.file}:{line.line}" for line in found.lines if line.is_match]


def grep(folder: Path, *arguments: str) -> list[str]:
    """What an operator's own grep prints, sorted as fleetops sorts: by file, then by line."""
    ran = subprocess.run(
        ["grep", "-rnI", *arguments, *CACHES, "."],
        cwd=folder,
        capture_output=True,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
        check=False,
    )
    rows = [line.removeprefix("./").split(":", 2) for line in ran.stdout.decode().splitlines()]
    return [":".join(row) for row in sorted(rows, key=lambda row: (row[0], int(row[1])))]


def as_grep(found: SourceAnswer) -> list[str]:
    return [f"{line.file}:{line.line}:{line.text}" for line in found.lines]


@pytest.mark.parametrize(
    ("options", "arguments", "pattern"),
    [
        ({}, (), INCIDENT),
        ({}, (), "hicache_size"),
        ({}, (), r"\(self\)\.\1"),
        ({}, (), "^class"),
        ({}, (), ""),
        ({}, (), "hicache_ratio\nhost_size"),
        ({}, (), "a+b|c"),
        ({"syntax": "extended"}, ("-E",), "hicache_(size|ratio)"),
        ({"syntax": "extended"}, ("-E",), r"(s)e\1f|size{1}"),
        ({"syntax": "fixed"}, ("-F",), "host_size * 1e9"),
        ({"syntax": "fixed"}, ("-F",), "self.size\nhicache"),
        ({"ignore_case": True}, ("-i",), "HICACHE"),
        ({"include": ("*_cache.py", "server*")}, ("--include=*_cache.py", "--include=server*"), "hicache"),
        ({"exclude": ("*.md",)}, ("--exclude=*.md",), "hicache"),
        ({"exclude_dir": ("mem_cache",)}, ("--exclude-dir=mem_cache",), "hicache"),
    ],
)
def test_it_finds_the_lines_that_grep_finds(
    session: LocalSession, tree: Path, options: dict[str, object], arguments: tuple[str, ...], pattern: str
) -> None:
    expected = grep(tree, *arguments, "-e", pattern)
    found = answer(session, tree, pattern, limit=1000, **options)
    assert as_grep(found) == expected
    assert found.total == len(expected)


def test_the_incidents_own_pattern_finds_the_declaration_and_the_allocation(
    session: LocalSession, tree: Path
) -> None:
    found = answer(session, tree, INCIDENT, include=("*.py",))
    assert places(found) == [
        "srt/mem_cache/hiradix_cache.py:6",
        "srt/mem_cache/memory_pool_host.py:7",
        "srt/server_args.py:8",
        "srt/server_args.py:15",
    ]


def test_caches_and_binaries_are_left_out(session: LocalSession, tree: Path) -> None:
    files = {line.file for line in answer(session, tree, "hicache_size").lines}
    assert files == {"README.md", "srt/server_args.py", "srt/mem_cache/hiradix_cache.py"}


def test_including_what_is_a_cache_does_not_bring_it_back(session: LocalSession, tree: Path) -> None:
    assert answer(session, tree, "hicache_size", include=("*.pyc",)).total == 0


def test_what_matched_is_marked_by_grep_itself(session: LocalSession, tree: Path) -> None:
    found = answer(session, tree, "Allocating.*host memory")
    (line,) = found.lines
    ((start, end),) = line.spans
    assert line.text[start:end] == "Allocating {requested_bytes / 1e9:.2f} GB host memory"


def test_several_matches_of_a_line_are_all_marked(session: LocalSession, tree: Path) -> None:
    found = answer(session, tree, "size", include=("hiradix_cache.py",))
    assert [line.text[a:b] for line in found.lines for a, b in line.spans] == ["size", "size"]


def test_an_answer_is_cut_on_the_node_and_what_was_cut_is_counted(session: LocalSession, tree: Path) -> None:
    whole, cut = (answer(session, tree, "size", limit=limit) for limit in (1000, 2))
    assert cut.shown == 2
    assert (cut.total, cut.files) == (whole.total, whole.files)
    assert cut.lines == whole.lines[:2]
    (command,) = session.trips[-1]
    assert session.run(command).stdout.count("\x01:") == 2


def test_an_answer_that_grows_too_large_is_cut_and_says_so(session: LocalSession, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hit\n" * 400_000)
    found = answer(session, tmp_path, "hit", limit=400_000)
    assert found.cut_at_bytes == ANSWER_BYTES
    assert 0 < found.shown < found.total == 400_000
    assert answer(session, tmp_path, "hit", limit=10).cut_at_bytes == 0


def test_a_limit_of_none_only_counts(session: LocalSession, tree: Path) -> None:
    counted = answer(session, tree, "hicache_size", limit=0)
    assert (counted.total, counted.files, counted.lines) == (4, 3, ())


def test_nothing_found_is_an_answer(session: LocalSession, tree: Path) -> None:
    nothing = answer(session, tree, "no such thing")
    assert (nothing.total, nothing.files, nothing.lines, nothing.unread) == (0, 0, (), ())


def test_context_comes_with_its_match(session: LocalSession, tree: Path) -> None:
    found = answer(session, tree, "hicache_size", include=("hiradix_cache.py",), context=1)
    assert [(line.line, line.is_match) for line in found.lines] == [(5, False), (6, True), (7, False)]


def test_context_of_a_match_that_was_cut_is_cut_with_it(session: LocalSession, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"{n}{' hit' * (n in {3, 8})}\n" for n in range(1, 12)))
    found = answer(session, tmp_path, "hit", context=2, limit=1)
    assert [line.line for line in found.lines] == [1, 2, 3, 4, 5]
    assert found.total == 2


def test_equal_trees_give_equal_answers_whatever_order_their_folders_have(
    session: LocalSession, tmp_path: Path
) -> None:
    names = ["b/x.py", "a/y.py", "B.py", "a-b.py", "a.py"]
    for folder, order in (("one", names), ("two", names[::-1])):
        for name in order:
            path = tmp_path / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("hit\n")
    one, two = (answer(session, tmp_path / folder, "hit") for folder in ("one", "two"))
    assert one == two
    assert places(one) == ["B.py:1", "a-b.py:1", "a.py:1", "a/y.py:1", "b/x.py:1"]


def test_answers_that_differ_past_the_cut_are_not_equal(session: LocalSession, tmp_path: Path) -> None:
    for folder, last in (("one", "hit 3"), ("two", "hit 4")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text(f"hit 1\nhit 2\n{last}\n")
    one, two = (answer(session, tmp_path / folder, "hit", limit=2) for folder in ("one", "two"))
    assert one.lines == two.lines
    assert one != two


def test_a_very_long_line_is_cut_around_its_match(session: LocalSession, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("x" * 50_000 + "needle" + "y" * 50_000 + "\n")
    (line,) = answer(session, tmp_path, "needle").lines
    ((start, end),) = line.spans
    assert line.text[start:end] == "needle"
    assert line.text[0] == line.text[-1] == "…"
    assert len(line.text) <= LINE_BYTES + 2


def test_a_cut_never_leaves_half_a_character_or_half_a_mark(session: LocalSession, tmp_path: Path) -> None:
    for shift in range(12):
        (tmp_path / f"{shift:02}.txt").write_text("a" * shift + "éx" * 5000 + "\n")
    lines = answer(session, tmp_path, "x").lines
    assert len(lines) == 12
    for line in lines:
        assert line.text.isprintable()
        assert {line.text[start:end] for start, end in line.spans} <= {"x", ""}


def test_a_single_file_can_be_searched(session: LocalSession, tree: Path) -> None:
    assert places(answer(session, tree / "srt" / "server_args.py", "hicache_size")) == [
        "server_args.py:8",
        "server_args.py:15",
    ]


def test_file_names_with_colons_and_blanks_keep_their_lines(session: LocalSession, tmp_path: Path) -> None:
    (tmp_path / "a b:7:c-3-d.py").write_text("\nhit:1:\n")
    (line,) = answer(session, tmp_path, "hit").lines
    assert (line.file, line.line, line.text) == ("a b:7:c-3-d.py", 2, "hit:1:")


def test_a_line_that_is_not_utf8_hides_neither_itself_nor_what_follows(
    session: LocalSession, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_bytes(b"caf\xe9 hit\nna\xc3\xafve hit\n")
    assert [line.text for line in answer(session, tmp_path, "hit").lines] == ["caf\udce9 hit", "naïve hit"]


def test_a_dot_is_one_character_however_many_bytes_it_has(session: LocalSession, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("é hit\n")
    assert answer(session, tmp_path, "^. hit").total == 1
    assert answer(session, tmp_path, "É HIT", ignore_case=True).total == 1


def test_what_could_not_be_read_is_said(session: LocalSession) -> None:
    printed = "searched 2\n./a.py\x011\x01:\x01hit\n77 12\ntotal 1 1 0\n"
    outcome = Outcome(status=0, stdout=printed, stderr="grep: ./b.py: Permission denied\n" * 2)
    found = parse_search(outcome, "/x").answer
    assert found.unread == ("./b.py: Permission denied",)
    assert found.lines == (SourceLine(file="a.py", line=1, text="hit"),)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_locked_file_is_named(session: LocalSession, tmp_path: Path) -> None:
    (tmp_path / "a.py").touch(mode=0o000)
    (words,) = answer(session, tmp_path, "hit").unread
    assert words == "./a.py: Permission denied"


def test_a_bad_pattern_is_a_usage_error_in_greps_own_words(session: LocalSession, tree: Path) -> None:
    with pytest.raises(UsageError, match=r"^grep refuses the pattern: Unmatched \["):
        find(session, tree, "[a")


def test_greps_warning_about_a_pattern_is_kept_apart_from_the_answer(
    session: LocalSession, tree: Path
) -> None:
    printed = "searched 0\n77 12\ntotal 0 0 0\n"
    outcome = Outcome(status=0, stdout=printed, stderr="grep: warning: stray \\ before h\n" * 3)
    found = parse_search(outcome, "/x")
    assert found.warnings == ("stray \\ before h",)
    assert found.answer.unread == ()


def test_a_grep_that_is_not_gnus_is_not_blamed_on_the_pattern(session: LocalSession, tmp_path: Path) -> None:
    other = tmp_path / "grep"
    other.write_text("#!/bin/sh\necho 'grep: unrecognized option: G' >&2\nexit 2\n")
    other.chmod(0o755)
    asked = search_command(Search(pattern="x"), "/")
    found = session.run(Command(argv=("env", f"PATH={tmp_path}:{os.environ['PATH']}", *asked.argv)))
    with pytest.raises(FleetopsError, match=r"needs GNU grep.*unrecognized option: G"):
        parse_search(found, "/")


def test_a_missing_folder_is_said(session: LocalSession) -> None:
    with pytest.raises(FleetopsError, match="cannot search /no/such: no such file or folder"):
        find(session, "/no/such", "x")


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome(status=127, stderr="sh: 1: awk: not found"),
        Outcome(status=0, stdout="searched 137\n77 12\ntotal 0 0 0\n"),
        Outcome(status=0, stdout="searched 0\n./a.py\x011\x01:\x01hit\n"),
        Outcome(status=0),
    ],
)
def test_an_answer_without_its_end_is_no_answer(outcome: Outcome) -> None:
    with pytest.raises(FleetopsError, match="the search in /x failed"):
        parse_search(outcome, "/x")


def test_a_search_that_takes_too_long_is_said() -> None:
    with pytest.raises(FleetopsError, match=f"did not end within {DEADLINE_S:g} s"):
        parse_search(Outcome(status=None, timed_out=True), "/x")


@pytest.mark.parametrize("bad", [{"pattern": "a\0b"}, {"pattern": "a", "include": ("a\0",)}])
def test_a_nul_byte_is_refused_before_anything_is_sent(bad: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="NUL"):
        Search(**bad)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="NUL"):
        search_command(Search(pattern="a"), "/x\0")
