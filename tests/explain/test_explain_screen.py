"""What a person sees: short, aligned, pasteable, the same facts with and without colour."""

from dataclasses import replace

import pytest
from explain_scenes import places, proven
from rich.text import Text

from fleetops.model.explained import ExplainReport, NodeAnswer, NodeSize, Unexplained
from fleetops.model.proof import Explanation, Pool
from fleetops.render.explain import Where, explain_screen, explanation_json, nodes_json, nodes_screen

HERE = Where(title="SGLang", place="in /opt/site", folder="/opt/site/sglang")
FOLDER = "/root/sglang/python/sglang"

HYBRID = proven(
    version="0.5.13",
    pools=(
        Pool(file="srt/mem_cache/memory_pool_host.py", line=252, name="HostKVCache"),
        Pool(
            file="srt/mem_cache/memory_pool_host.py",
            line=1359,
            name="MambaPoolHost",
            when="for models with mamba layers",
        ),
    ),
    simultaneous=2,
    notes=("The help text does not say per rank.", "An indexer's pool comes on top."),
)
UNPROVEN = proven(
    verdict="unproven",
    unit="unknown",
    scope="unknown",
    pools=(),
    simultaneous=None,
    scope_why="",
    check=None,
    unproven_because="the value goes into `pools[kind]`, which cannot be followed (srt/mem_cache/hiradix_cache.py:88)",
)
UNKNOWN = Explanation(
    flag="hicache_sise",
    engine="sglang",
    version="0.5.9",
    verdict="no-such-flag",
    notes=("did you mean hicache_size or hicache_ratio?",),
)


def lines(explanation: Explanation, width: int | None, where: Where = HERE) -> list[str]:
    return [line.rstrip() for line in explain_screen(explanation, where, width).plain.split("\n")]


def test_a_proof_at_120_columns() -> None:
    assert lines(proven(), 120) == [
        "hicache_size    GB per rank    proven             SGLang 0.5.9 in /opt/site",
        "",
        "  declared   srt/server_args.py:530                  hicache_size: int = 0",
        "  read       srt/mem_cache/hiradix_cache.py:73       server_args.hicache_size,",
        "  passed as  srt/mem_cache/memory_pool_host.py:140   host_size",
        "  becomes    srt/mem_cache/memory_pool_host.py:159   int(host_size * 1e9 // self.size_per_token)   x 1e9: GB",
        "",
        "  scope      built inside each scheduler process, one per rank (srt/managers/scheduler.py:2890);",
        "             nothing on the way divides by a parallel size",
        "  its check  not sound: each rank alone is compared with the whole node's free memory",
        "             (srt/mem_cache/memory_pool_host.py:171)",
        "  default    0",
    ]


def test_a_proof_at_80_columns_has_long_lines_of_source_below_their_places() -> None:
    assert lines(proven(), 80)[2:7] == [
        "  declared   srt/server_args.py:530                  hicache_size: int = 0",
        "  read       srt/mem_cache/hiradix_cache.py:73       server_args.hicache_size,",
        "  passed as  srt/mem_cache/memory_pool_host.py:140   host_size",
        "  becomes    srt/mem_cache/memory_pool_host.py:159",
        "               int(host_size * 1e9 // self.size_per_token)   x 1e9: GB",
    ]


@pytest.mark.parametrize("width", [60, 80, 100, 120, 160])
@pytest.mark.parametrize("told", [proven(), HYBRID, UNPROVEN, UNKNOWN], ids=lambda told: told.verdict)
def test_no_line_is_wider_than_the_terminal_but_what_is_there_to_be_typed(
    told: Explanation, width: int
) -> None:
    wide = [line for line in lines(told, width) if len(line) > width]
    assert not [line for line in wide if not line.startswith("  sed")]


def test_a_long_line_of_source_is_cut_at_the_terminals_edge_and_whole_when_piped() -> None:
    long = "self.kv_buffer = " + "allocate(a, b) + " * 20
    told = proven(proof=places(("srt/pool.py", 7, long, "allocation", "")))
    (row,) = [line for line in lines(told, 100) if "allocates" in line]
    assert row.endswith("…")
    assert len(row) == 100
    assert long.strip() in "\n".join(lines(told, None))


def test_one_line_of_source_is_one_row() -> None:
    told = proven(
        proof=places(
            ("srt/pool.py", 7, "torch.empty(host_size * 1e9)", "arithmetic", "x 1e9: GB"),
            ("srt/pool.py", 7, "torch.empty(host_size * 1e9)", "allocation", "allocates"),
        )
    )
    assert lines(told, 120)[2:4] == [
        "  allocates  srt/pool.py:7   torch.empty(host_size * 1e9)   x 1e9: GB",
        "",
    ]


def test_several_pools_are_told_with_share_and_condition() -> None:
    shown = lines(HYBRID, 140)
    at = next(place for place, line in enumerate(shown) if line.startswith("  pools"))
    assert shown[at : at + 6] == [
        "  pools      srt/mem_cache/memory_pool_host.py:252    HostKVCache     whole",
        "             srt/mem_cache/memory_pool_host.py:1359   MambaPoolHost   whole, for models with mamba layers",
        "             at worst 2 at once, each the whole value",
        "  default    0",
        "  note       The help text does not say per rank.",
        "             An indexer's pool comes on top.",
    ]


def test_the_only_pool_is_told_where_it_takes_a_part_or_something_has_to_be_so() -> None:
    assert not [line for line in lines(proven(), 120) if line.startswith("  pools")]
    part = Pool(file="a.py", line=1, name="Pool", share="part")
    assert [line for line in lines(proven(pools=(part,)), 120) if line.endswith("Pool   a part")]


COMPANY = proven(
    version="0.5.23",
    pools=(
        Pool(file="srt/pool_host/base.py", line=223, name="HostKVCache"),
        Pool(
            file="srt/pool_host/base.py",
            line=226,
            name="HostKVCache",
            share="part",
            when="Decode.__init__: shared with HostKVCache; _Mamba.build: shared with HostKVCache and MambaPoolHost",
        ),
        Pool(
            file="srt/pool_host/mamba.py",
            line=168,
            name="MambaPoolHost",
            share="part",
            when="_Mamba.build: shared with HostKVCache",
        ),
    ),
)


@pytest.mark.parametrize("width", [80, 120, None])
def test_pools_in_company_are_one_short_row_each_without_the_engines_inner_names(width: int | None) -> None:
    shown = lines(COMPANY, width)
    at = next(place for place, line in enumerate(shown) if line.startswith("  pools"))
    rows = " ".join(" ".join(shown[at : at + 5]).split())
    assert rows.startswith(
        "pools srt/pool_host/base.py:223,226 HostKVCache whole, or a part beside others "
        "srt/pool_host/mamba.py:168 MambaPoolHost a part beside others at worst the whole value once"
    )
    assert "build" not in rows


def test_a_calculation_is_noted_by_its_unit_and_what_the_line_itself_does_not_show() -> None:
    told = proven(
        proof=places(
            ("srt/a.py", 1, "x(size * 1e9 // self.each)", "arithmetic", "x 1e9, / self.each"),
            ("srt/a.py", 2, "x(size // chunk)", "arithmetic", "/ world_size, / chunk, split in proportion"),
        )
    )
    assert lines(told, 120)[2:4] == [
        "  becomes    srt/a.py:1   x(size * 1e9 // self.each)   x 1e9: GB",
        "  becomes    srt/a.py:2   x(size // chunk)             / world_size, split in proportion",
    ]


def test_a_parameters_function_stands_beside_it_where_there_is_room() -> None:
    function = "of MHATokenToKVPoolHost.__init__"
    told = proven(proof=places(("srt/mem_cache/pool.py", 140, "host_size", "argument", function)))
    assert lines(told, 80)[2] == "  passed as  srt/mem_cache/pool.py:140   host_size of MHATokenToKVPoolHost"
    assert "  passed as  srt/mem_cache/pool.py:140   host_size" in lines(told, 60)


def test_a_help_text_is_left_out_of_the_declaration() -> None:
    line = 'hicache_size: A[int, "The size of host KV cache ..."] = 0'
    told = proven(proof=places(("srt/fields.py", 1, line, "declaration", "")))
    assert lines(told, 120)[2] == '  declared   srt/fields.py:1   hicache_size: A[int, "..."] = 0'


def test_where_it_runs_is_said_once() -> None:
    scope = ("srt/managers/scheduler.py", 2890, "scheduler = Scheduler(", "scope", "in run_scheduler_process")
    assert "scheduler = Scheduler(" not in "\n".join(lines(proven(proof=places(scope)), 120))
    elsewhere = lines(proven(proof=places(scope), scope_why="it is divided by world_size"), 120)
    assert elsewhere[2].endswith("scheduler.py:2890   scheduler = Scheduler(   in run_scheduler_process")


def test_unproven_ends_with_the_place_where_the_trail_was_lost_and_how_to_look_there() -> None:
    assert lines(UNPROVEN, 100)[-6:] == [
        "  unproven   the value goes into `pools[kind]`, which cannot be followed",
        "             (srt/mem_cache/hiradix_cache.py:88)",
        "             Look at that place. `launch` refuses the flag unless that is waived: --waive",
        '             proof="reason".',
        "",
        "  sed -n 80,96p /opt/site/sglang/srt/mem_cache/hiradix_cache.py",
    ]


def test_unproven_without_a_place_has_nothing_to_look_at() -> None:
    assert "sed -n" not in "\n".join(lines(replace(UNPROVEN, unproven_because="it changed"), 100))


def test_no_such_flag_names_the_nearest() -> None:
    assert lines(UNKNOWN, 100) == [
        "hicache_sise    no such flag                      SGLang 0.5.9 in /opt/site",
        "",
        "  did you mean hicache_size or hicache_ratio?",
    ]


@pytest.mark.parametrize(
    ("unit", "scope", "words"),
    [
        ("GiB", "total", "GiB in total"),
        ("ratio", "per-rank", "a ratio, per rank"),
        ("fraction", "per-node", "a fraction, per node"),
        ("blocks", "per-rank", "blocks per rank"),
    ],
)
def test_the_verdict_in_words(unit: str, scope: str, words: str) -> None:
    assert lines(proven(unit=unit, scope=scope), 100)[0].startswith(f"hicache_size    {words}    proven")


def styles(shown: Text, part: str) -> set[str]:
    at = shown.plain.index(part)
    return {str(span.style) for span in shown.spans if span.start <= at < span.end}


def test_colour_is_for_meaning_only() -> None:
    assert "bold green" in styles(explain_screen(proven(), HERE, 120), "proven")
    assert "yellow" in styles(explain_screen(proven(), HERE, 120), "not sound")
    assert "bold magenta" in styles(explain_screen(UNPROVEN, HERE, 120), "unproven")
    assert "bold yellow" in styles(explain_screen(UNKNOWN, HERE, 120), "no such flag")
    assert not styles(explain_screen(proven(), HERE, 120), "srt/server_args.py")


def test_what_a_host_says_reaches_no_terminal_raw() -> None:
    told = proven(
        proof=places(("srt/\x1b[31mx.py", 1, "x = '\x1b]0;title\x07'", "declaration", "\x9b31m")),
        notes=("\x1b[2J",),
        scope_why="\u202ereversed",
    )
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set("\n".join(lines(told, 120)))


def size(asked: int | None, *, fits: int | None = 48, available: int = 445) -> NodeSize:
    return NodeSize(
        profile="hicache48",
        ranks=8,
        unit="GB",
        asked=asked,
        asked_bytes=None if asked is None else asked * 8 * 10**9,
        available_bytes=available * 10**9,
        fits=fits,
    )


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (size(300), "300 means 2,400 GB on this node (8 ranks, 445 GB available). 48 fits."),
        (size(48), "48 means 384 GB on this node (8 ranks, 445 GB available), and fits."),
        (size(None), "48 fits on this node (8 ranks, 445 GB available)."),
        (
            size(48, fits=0, available=61),
            "48 means 384 GB on this node (8 ranks, 61 GB available). Nothing fits now.",
        ),
        (size(48, fits=None), "48 means 384 GB on this node (8 ranks, 445 GB available)."),
    ],
)
def test_what_the_number_comes_to_on_the_node_that_was_asked(told: NodeSize, words: str) -> None:
    report = ExplainReport(
        flag="hicache_size", answers=(NodeAnswer(host="node-174", explanation=proven(), size=told),)
    )
    shown = nodes_screen(report, {"sglang": "SGLang"}, 120).plain.split("\n")
    assert shown[0] == "hicache_size    GB per rank    proven             SGLang 0.5.9 on node-174"
    assert shown[-3:] == ["", f"  {words}", "  fleetops size --profile hicache48 node-174"]


def report() -> ExplainReport:
    """Three nodes with the same files, of which one asks less; one with others; one that is silent."""
    answers = [
        NodeAnswer(host="node-174", explanation=proven(), folder=FOLDER, size=size(300)),
        NodeAnswer(host="node-180", explanation=replace(UNPROVEN, tree_sha256="ef" * 32), folder=FOLDER),
        NodeAnswer(host="node-175", explanation=proven(), folder=FOLDER, size=size(48)),
        NodeAnswer(host="node-176", explanation=proven(), folder=FOLDER, size=size(300)),
    ]
    silent = Unexplained(host="node-181", error="node-181: no answer in 10 s", hint="ping 10.1.230.181")
    return ExplainReport(flag="hicache_size", answers=tuple(answers), unreachable=(silent,))


def test_equal_answers_are_said_once_and_what_differs_apart() -> None:
    shown = nodes_screen(report(), {"sglang": "SGLang"}, 120).plain.split("\n")
    assert shown[0].endswith("SGLang 0.5.9 on node-[174-176]")
    assert shown[13:16] == [
        "  node-[174,176]: 300 means 2,400 GB (8 ranks, 445 GB available). 48 fits.",
        "  node-175: 48 means 384 GB (8 ranks, 445 GB available), and fits.",
        "  fleetops size --profile hicache48 'node-[174-176]'",
    ]
    assert shown[17] == "hicache_size    unproven                          SGLang 0.5.9 on node-180"
    assert f"  fleetops run node-180 -- sed -n 80,96p {FOLDER}/srt/mem_cache/hiradix_cache.py" in shown
    assert shown[-3:] == ["", "node-181   not asked   no answer in 10 s", "  ping 10.1.230.181"]


def test_nodes_with_profiles_of_their_own_are_sized_by_one_command() -> None:
    sizes = (size(300), replace(size(60), profile="hicache60"))
    answers = tuple(
        NodeAnswer(host=f"node-17{number}", explanation=proven(), size=one)
        for number, one in enumerate(sizes)
    )
    shown = nodes_screen(ExplainReport(flag="hicache_size", answers=answers), {}, 120).plain.split("\n")
    assert shown[-1] == "  fleetops size 'node-[170-171]'"


def test_json_has_what_the_screen_has() -> None:
    body = explanation_json(HYBRID)
    assert list(body)[:9] == [
        "schema",
        "flag",
        "engine",
        "version",
        "verdict",
        "unit",
        "scope",
        "default",
        "pools",
    ]
    assert body["schema"] == "fleetops.explain/1"
    assert body["pools"][1] == {
        "file": "srt/mem_cache/memory_pool_host.py",
        "line": 1359,
        "name": "MambaPoolHost",
        "share": "whole",
        "when": "for models with mamba layers",
    }
    assert body["proof"][3] == {
        "file": "srt/mem_cache/memory_pool_host.py",
        "line": 159,
        "text": "int(host_size * 1e9 // self.size_per_token)",
        "role": "arithmetic",
        "note": "x 1e9: GB",
        "sha256": "ab" * 32,
    }
    assert (body["unproven_because"], body["simultaneous"]) == (None, 2)
    assert body["notes"] == list(HYBRID.notes)
    assert body["check"]["sound"] is False


def test_json_of_nodes_has_each_distinct_answer_once() -> None:
    body = nodes_json(report())
    assert body["schema"] == "fleetops.explain-nodes/1"
    first, second = body["answers"]
    assert first["hosts"] == ["node-174", "node-175", "node-176"]
    assert first["schema"] == "fleetops.explain/1"
    assert (first["verdict"], second["verdict"]) == ("proven", "unproven")
    assert [one["host"] for one in first["sizes"]] == ["node-174", "node-175", "node-176"]
    assert first["sizes"][0]["asked_bytes"] == 2400 * 10**9
    assert second["sizes"] == []
    assert body["unreachable"] == [
        {
            "host": "node-181",
            "error": "node-181: no answer in 10 s",
            "hint": "ping 10.1.230.181",
            "reached": False,
        }
    ]


def test_trees_that_differ_elsewhere_give_one_answer_of_no_tree_in_particular() -> None:
    answers = tuple(
        NodeAnswer(host=f"node-{tree}", explanation=proven(tree_sha256=tree * 32)) for tree in ("ab", "cd")
    )
    (answer,) = nodes_json(ExplainReport(flag="hicache_size", answers=answers))["answers"]
    assert answer["hosts"] == ["node-ab", "node-cd"]
    assert answer["tree_sha256"] == ""
