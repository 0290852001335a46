"""grep-source's screen and JSON: equal things once, what differs said, lines aligned, matches marked."""

from rich.console import Console
from rich.text import Text

from fleetops.model.grep import GrepReport, NotAsked, SourceAnswer, SourceLine
from fleetops.render.grep import grep_json, grep_screen

DECLARED = SourceLine(file="srt/server_args.py", line=530, text="    hicache_size: int = 0", spans=((4, 16),))
READ = SourceLine(
    file="srt/mem_cache/hiradix_cache.py",
    line=73,
    text="                server_args.hicache_size,",
    spans=((28, 40),),
)


def answer(*lines: SourceLine, total: int | None = None, **fields: object) -> SourceAnswer:
    known: dict[str, object] = {"engine": "sglang", "engine_title": "SGLang", "version": "0.5.9", "files": 2}
    found = len(lines) if total is None else total
    return SourceAnswer(lines=lines, total=found, **{"digest": str(hash(lines)), **known, **fields})  # type: ignore[arg-type]


def screen(*answers: tuple[str, SourceAnswer], width: int | None = None, **fields: object) -> list[str]:
    return [line.plain for line in styled(*answers, width=width, **fields)]


def styled(*answers: tuple[str, SourceAnswer], width: int | None = None, **fields: object) -> list[Text]:
    return list(grep_screen(GrepReport(answers=answers, **fields), width))  # type: ignore[arg-type]


def test_equal_answers_are_said_once_with_places_and_text_in_columns() -> None:
    same = answer(READ, DECLARED)
    assert screen(("node-171", same), ("node-172", same), ("node-173", same)) == [
        "node-[171-173]   SGLang 0.5.9   2 lines in 2 files",
        "  srt/mem_cache/hiradix_cache.py:73   server_args.hicache_size,",
        "  srt/server_args.py:530              hicache_size: int = 0",
    ]


def test_what_was_cut_is_counted_with_the_option_that_shows_it() -> None:
    lines = screen(("node-171", answer(READ, DECLARED, total=31)))
    assert lines[0].endswith("2 of 31 lines in 2 files")
    assert lines[-1] == "  ...                                 29 more: --limit 40"


def test_far_too_much_is_better_narrowed_than_shown() -> None:
    assert screen(("node-171", answer(READ, total=350_000)))[-1].endswith(
        "349,999 more: narrow it with --include"
    )


def test_an_answer_cut_for_its_size_does_not_offer_a_larger_limit() -> None:
    lines = screen(("node-171", answer(*[READ] * 1200, total=9000, cut_at_bytes=4194304)))
    assert lines[0].endswith("1,200 of 9,000 lines in 2 files")
    assert lines[-1].split(maxsplit=1)[1] == (
        "7,800 more: cut here, after 4,194,304 bytes; narrow it with --include or a longer pattern"
    )


def test_a_host_that_differs_is_shown_as_differing_in_full() -> None:
    lines = screen(
        ("node-171", answer(READ, DECLARED)),
        ("node-175", answer(DECLARED, version="0.5.23", files=1)),
        ("node-172", answer(READ, DECLARED)),
    )
    assert lines[3:] == [
        "",
        "node-175         SGLang 0.5.23   1 line in 1 file   differs",
        "  srt/server_args.py:530              hicache_size: int = 0",
    ]


def test_another_release_with_the_same_lines_does_not_repeat_them() -> None:
    lines = screen(("node-171", answer(READ)), ("node-172", answer(READ, version="0.5.10")))
    assert lines[-1] == "node-172   SGLang 0.5.10   1 line in 2 files   same as node-171"


def test_a_difference_past_the_cut_is_not_taken_for_equality() -> None:
    one, other = (answer(READ, total=9, digest=digest) for digest in "ab")
    lines = screen(("node-171", one), ("node-172", other))
    assert lines[-1].endswith("1 of 9 lines in 2 files   same 1 as node-171, the rest differs")


def test_a_host_with_nothing_says_so() -> None:
    assert screen(("node-190", answer(total=0, files=0))) == ["node-190   SGLang 0.5.9   no match"]


def test_a_host_that_could_not_be_asked_is_among_the_answers_with_what_to_do() -> None:
    silent = NotAsked(host="node-181", error="no route to 10.1.230.181", hint="fleetops trust node-181")
    lines = screen(("node-171", answer(READ)), unreachable=(silent,))
    assert lines[-3:] == [
        "",
        "node-181   not asked   no route to 10.1.230.181",
        "  fleetops trust node-181",
    ]


def test_what_could_not_be_read_is_said() -> None:
    unread = answer(READ, unread=("./b.py: Permission denied",))
    assert screen(("node-171", unread))[-1] == "  not read: ./b.py: Permission denied"


def test_another_folder_has_no_engine_to_name() -> None:
    plain = answer(READ, engine="", engine_title="", version="")
    assert screen(("pve-01", plain))[0] == "pve-01   1 line in 2 files"


def test_what_matched_is_marked_on_a_terminal() -> None:
    row = styled(("node-171", answer(DECLARED)), width=100)[1]
    ((start, end, style),) = [(span.start, span.end, span.style) for span in row.spans]
    assert (row.plain[start:end], style) == ("hicache_size", "bold red")


def test_the_screen_reads_the_same_without_colour() -> None:
    lines = styled(("node-171", answer(READ, DECLARED)), width=100)
    console = Console(force_terminal=True, no_color=True, width=100, _environ={})
    with console.capture() as captured:
        for line in lines:
            console.print(line)
    assert "\x1b[31m" not in captured.get()
    assert "server_args.hicache_size," in Text.from_ansi(captured.get()).plain


def test_a_long_line_keeps_its_match_in_sight() -> None:
    long = SourceLine(file="a.py", line=1, text="x" * 300 + "hit" + "y" * 300, spans=((300, 303),))
    (row,) = screen(("node-171", answer(long)), width=80)[1:]
    assert len(row) == 80
    assert "hit" in row
    assert row.split()[1].startswith("…")
    assert row.endswith("…")


def test_piped_text_is_never_cut() -> None:
    long = SourceLine(file="a.py", line=1, text="x" * 390, spans=())
    assert screen(("node-171", answer(long)))[1].endswith("x" * 390)


def test_a_place_too_long_for_the_terminal_stands_above_its_text() -> None:
    deep = SourceLine(file="srt/" + "deep/" * 12 + "a.py", line=7, text="hit")
    lines = screen(("node-171", answer(deep, DECLARED)), width=80)
    assert lines[1] == f"  {deep.file}:7"
    assert lines[2].strip() == "hit"
    assert lines[2].index("hit") == lines[3].index("hicache_size")


def test_context_keeps_its_shape_and_its_own_mark() -> None:
    before = SourceLine(file="a.py", line=4, text="    for x in y:", is_match=False)
    match = SourceLine(file="a.py", line=5, text="        hit(x)", spans=((8, 11),))
    apart = SourceLine(file="a.py", line=9, text="    hit(z)", spans=((4, 7),))
    lines = screen(("node-171", answer(before, match, apart, total=2)))
    assert lines[1:] == ["  a.py-4   for x in y:", "  a.py:5       hit(x)", "", "  a.py:9   hit(z)"]


def test_what_a_file_contains_never_reaches_the_terminal_raw() -> None:
    evil = SourceLine(file="a\x1b[2J.py", line=1, text="\x1b]0;owned\x07 hit \udcff", spans=((11, 14),))
    rows = styled(("node-171", answer(evil)), width=100)
    assert not [row for row in rows if "\x1b" in row.plain or "\x07" in row.plain]
    (span,) = rows[1].spans
    assert rows[1].plain[span.start : span.end] == "hit"


def test_json_has_every_host_once_and_text_as_it_stands_in_the_file() -> None:
    context = SourceLine(file="a.py", line=6, text="\tnext", is_match=False)
    report = GrepReport(
        answers=(
            ("node-171", answer(READ, digest="d")),
            ("node-172", answer(READ, digest="d")),
            ("node-175", answer(context, digest="e", total=7)),
        ),
        unreachable=(NotAsked(host="node-181", error="no route"),),
    )
    body = grep_json(report)
    assert body["schema"] == "fleetops.grep-source/1"
    assert body["unreachable"] == [{"host": "node-181", "reached": False, "error": "no route", "hint": ""}]
    assert body["answers"][0] == {
        "hosts": ["node-171", "node-172"],
        "engine": "sglang",
        "version": "0.5.9",
        "total": 1,
        "files": 2,
        "cut_at_bytes": 0,
        "digest": "d",
        "lines": [{"file": READ.file, "line": 73, "text": READ.text}],
        "unread": [],
    }
    assert body["answers"][1]["lines"] == [{"file": "a.py", "line": 6, "text": "\tnext", "context": True}]
