"""What a plan and a result show of proofs and waivers, on a terminal's text and as JSON."""

import io

from proof_scenes import ARITHMETIC, asking, launching, proven, unproven

from fleetops.model.plan import Plan
from fleetops.model.record import Result
from fleetops.playbook.book import Entry, Playbook
from fleetops.playbook.plan import make_plan
from fleetops.render.operate import plan_json, result_json, show_plan, show_result
from fleetops.render.output import Output

BOOK = Playbook(name="launch", summary="", entries=(Entry(step="prove"), Entry(step="size")))
WAIVED = {"proof": "read by hand", "size": "an empty machine"}


def shown(plan: Plan, *, exact: bool) -> str:
    out = io.StringIO()
    show_plan(Output(out, io.StringIO(), environ={}), plan, (), exact=exact)
    return out.getvalue()


def test_a_plan_says_what_each_size_means_and_that_it_is_proven():
    text = shown(make_plan(BOOK, launching(asking(), proven())), exact=False)
    assert "hicache_size: GB per rank, proven" in text
    assert "8 x 48 GB = 384 GB" in text
    assert ARITHMETIC not in text


def test_a_dry_run_shows_the_way_from_the_declaration_to_the_allocation():
    lines = shown(make_plan(BOOK, launching(asking(), proven())), exact=True).splitlines()
    places = [line for line in lines if ".py:" in line]
    assert "SGLang 0.5.9 on node-174" in "\n".join(lines)
    assert [next(word for word in place.split() if ".py:" in word) for place in places] == [
        "srt/server_args.py:530",
        "srt/mem_cache/hiradix_cache.py:73",
        "srt/mem_cache/memory_pool_host.py:159",
    ]
    assert ARITHMETIC in places[-1]


def test_what_would_be_refused_is_said_in_one_line_of_the_plan():
    text = shown(make_plan(BOOK, launching(asking(scope="total"), proven())), exact=False)
    assert "would be refused: hicache_size is GB per rank, and the profile says GB total" in text


def test_how_the_source_was_found_is_said_where_that_needs_a_word():
    note = "`serve.sh` is a wrapper that cannot be asked what it imports: read in /opt/sglang"
    text = shown(make_plan(BOOK, launching(asking(), proven(), proof_note=note)), exact=False)
    assert note in " ".join(text.split())


def test_waivers_are_named_in_the_plan():
    text = shown(make_plan(BOOK, launching(asking(300), unproven(), waived=WAIVED)), exact=False)
    assert "waived proof: read by hand" in text
    assert "waived size: an empty machine" in text
    assert "would be refused" not in text


def test_the_plans_json_has_proofs_and_waivers():
    body = plan_json(make_plan(BOOK, launching(asking(), proven(), waived=WAIVED)), "planned")
    proof = body["proofs"]["hicache_size"]
    assert (proof["verdict"], proof["unit"], proof["scope"]) == ("proven", "GB", "per-rank")
    assert proof["proof"][0]["file"] == "srt/server_args.py"
    assert body["waived"] == WAIVED


def test_a_result_names_what_was_waived():
    out = io.StringIO()
    result = Result(run_id="run", node="node-174", status="done", waived=WAIVED)
    show_result(Output(out, io.StringIO(), environ={}), result)
    assert "waived size: an empty machine" in out.getvalue()


def test_a_refused_plans_json_has_the_proof_the_arithmetic_and_what_refuses_it():
    plan = make_plan(BOOK, launching(asking(300), proven()))
    body = plan_json(plan, "refused")
    assert (body["status"], body["guard"]) == ("refused", "size")
    assert "48 fits" in body["why"]
    assert "set hicache-size to 48" in body["hint"]
    assert body["proofs"]["hicache_size"]["proof"][0]["file"] == "srt/server_args.py"
    size = body["size"]
    assert (size["verdict"], size["ranks"], size["available_bytes"]) == ("does-not-fit", 8, 445 * 10**9)
    flag = size["flags"]["hicache_size"]
    assert (flag["asked"], flag["unit"], flag["scope"], flag["fits"]) == (300, "GB", "per-rank", 48)
    assert flag["total_bytes"] == 2400 * 10**9
    assert {"label": "hicache_size: 8 x 300 GB", "bytes": 2400 * 10**9} in size["lines"]
    assert size["needed_bytes"] == sum(line["bytes"] for line in size["lines"][:3])


def test_a_result_has_what_it_rested_on():
    plan = make_plan(BOOK, launching(asking(), proven()))
    body = result_json(plan, Result(run_id="run", node="node-174", status="done"))
    assert body["proofs"]["hicache_size"]["verdict"] == "proven"
    assert body["size"]["verdict"] == "fits"
