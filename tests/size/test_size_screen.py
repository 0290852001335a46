"""What `size` looks like: what counts first, numbers in one column, the verdict and the next command last."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from sizing_cases import THERE, model, profile, proof

from fleetops.fleet.size import size_offline
from fleetops.fleet.size_given import Given
from fleetops.model.size import Sizing
from fleetops.render.size import sizes_json, sizes_screen

KEYS = (
    "schema", "ranks", "flag", "unit", "scope", "pools", "available_bytes", "reserve_bytes", "floor_bytes", "fits",
    "asked", "asked_total_bytes", "verdict", "bytes_per_token", "host_tokens", "host_bytes", "exact", "lines",
)  # fmt: skip


def sized(explanation=None, config="deepseek-v3", ranks=8, **given):
    explanation = explanation or proof()
    said = {
        "flag": explanation.flag,
        "settings": {"hicache_size": 300, "page_size": 64},
        "explain": lambda flag: replace(explanation, flag=flag),
        "config": model(config) if config else None,
        "available_bytes": THERE,
        "ranks": ranks,
        **given,
    }
    return size_offline(profile(ranks=ranks, engine=explanation.engine), Given(**said))


def screen(*sizings, width=100):
    lines = sizes_screen(sizings, width).plain.split("\n")
    assert all(len(line) <= (width or 999) for line in lines)
    return lines


INCIDENT = """\
hicache_size    GB per rank    does not fit       SGLang 0.5.9 offline

  proven     srt/mem_cache/memory_pool_host.py:159; one pool takes it on each of 8 ranks
  KV cache   70,272 bytes a token: 61 layers x (512 + 64) x 2 bytes, whole on every rank
  host pool  4,269,184 tokens a rank at 300, 300 GB; 683,072 at 48
  its check  lets 300 pass, which the node cannot hold: each rank alone against the whole node's
             free memory (srt/mem_cache/memory_pool_host.py:183)
             on this node it lets more than 8.2 and up to 434.3 GB per rank pass

                                        GB
  hicache_size          8 x 300 GB   2,400
  reserve for loading                   40
  floor, left free                      16
  needed                             2,456
  available, as given                  445

  300 per rank asks 8 x 300 GB = 2,400 GB; 445 GB available, 2,011 GB too much; 48 fits
  the same with --set hicache_size=48"""


def test_the_incident_as_an_operator_sees_it():
    assert "\n".join(screen(sized(device_tokens=116171))) == INCIDENT


def test_what_fits_says_what_is_left():
    lines = screen(sized(settings={"hicache_size": 48, "page_size": 64}))
    assert lines[0] == "hicache_size    GB per rank    fits               SGLang 0.5.9 offline"
    assert lines[-1] == "  48 per rank asks 8 x 48 GB = 384 GB of 445 GB available; it fits, 5 GB to spare"
    auto = screen(sized(settings={"page_size": 64}))
    assert auto[-1] == "  48 per rank fits: 8 x 48 GB = 384 GB of 445 GB available; 5 GB to spare"


def test_what_is_not_proven_names_the_place():
    lost = proof(verdict="unproven", unproven_because="srt/x.py:7: built by a factory", check=None)
    lines = screen(sized(lost))
    assert lines[0].startswith("hicache_size    unproven")
    assert "  not proven neither source nor profile says what it counts; 8 ranks on this node" in lines
    assert "srt/x.py:7: built by a factory" in " ".join(line.strip() for line in lines[-2:])


def test_a_total_says_so_and_decimals_stand_under_each_other():
    vllm = proof("kv_offloading_size", "0.33.0", engine="vllm", unit="GiB", scope="total", check=None)
    lines = screen(sized(vllm, settings={"kv_offloading_size": 300}))
    assert lines[0].startswith("kv_offloading_size    GiB in total    fits")
    table = [line for line in lines if line.endswith((".0", ".1"))]
    assert [line.split()[-1] for line in table] == ["322.1", "40.0", "16.0", "378.1", "445.0"]
    assert len({len(line) for line in table}) == 1


def test_pools_on_top_have_their_lines():
    fp8 = {"hicache_size": 150, "kv_cache_dtype": "fp8_e4m3"}
    lines = screen(sized(proof(version="0.5.11"), "deepseek-v3.2", ranks=4, settings=fp8))
    assert any(line.split()[:2] == ["DSA", "indexer,"] and line.endswith("137.5") for line in lines)


@pytest.mark.parametrize("width", [80, 100, 160, None])
def test_it_fits_the_terminal(width):
    for sizing in (sized(), sized(proof(version="0.5.13", simultaneous=2), "qwen3-next-80b")):
        screen(sizing, width=width)


def test_a_node_that_cannot_be_asked_has_its_line():
    silent = Sizing(
        host="node-181", engine="sglang", error="node-181 could not be asked: refused", hint="ping it"
    )
    lines = screen(sized(), silent)
    assert lines[-2:] == ["node-181   not asked   node-181 could not be asked: refused", "  ping it"]


def test_json_has_the_promised_keys_first_and_in_order():
    body = sizes_json([sized()])
    assert tuple(body)[: len(KEYS)] == KEYS
    assert json.loads(json.dumps(body)) == body
    assert {key: body[key] for key in KEYS[:-1]} == {
        "schema": "fleetops.size/1", "ranks": 8, "flag": "hicache_size", "unit": "GB", "scope": "per-rank", "pools": 1,
        "available_bytes": 445 * 10**9, "reserve_bytes": 40 * 10**9, "floor_bytes": 16 * 10**9, "fits": 48,
        "asked": 300, "asked_total_bytes": 2400 * 10**9, "verdict": "does-not-fit", "bytes_per_token": 70272,
        "host_tokens": 4269184, "host_bytes": 4269184 * 70272, "exact": True,
    }  # fmt: skip
    assert body["lines"][0] == {"label": "hicache_size: 8 x 300 GB", "bytes": 2400 * 10**9}
    assert [line["label"] for line in body["lines"][1:]] == [
        "reserve for loading", "floor, left free", "needed", "available, as given",
    ]  # fmt: skip


def test_json_of_what_nobody_asked():
    body = sizes_json([sized(settings={"page_size": 64})])
    assert (body["asked"], body["asked_total_bytes"], body["fits"]) == (None, None, 48)
    assert (body["host_tokens"], body["verdict"]) == (683072, "fits")


def test_json_of_what_is_not_known():
    lost = proof(verdict="unproven", unproven_because="lost")
    body = sizes_json([sized(lost, None, available_bytes=None)])
    unknown = ("available_bytes", "fits", "asked_total_bytes", "bytes_per_token", "host_tokens", "host_bytes")
    assert {body[key] for key in unknown} == {None}
    assert (body["unit"], body["scope"], body["verdict"], body["exact"]) == (
        "unknown",
        "unknown",
        "unproven",
        False,
    )


def test_several_nodes_are_one_object():
    silent = Sizing(host="node-181", engine="sglang", error="refused")
    body = sizes_json([sized(), silent])
    assert body["schema"] == "fleetops.sizes/1"
    assert [one["verdict"] for one in body["sizes"]] == ["does-not-fit", "unproven"]
    assert body["sizes"][1]["error"] == "refused"


def test_the_page_shows_what_is_printed():
    """docs/size.md: the JSON of the incident, and its last lines."""
    page = (Path(__file__).parents[2] / "docs" / "size.md").read_text()
    shown = json.loads(page.partition("```json\n")[2].partition("```")[0])
    printed = sizes_json([sized()])
    assert {key: printed[key] for key in shown if key != "lines"} == {
        key: shown[key] for key in shown if key != "lines"
    }
    assert shown["lines"][0] in printed["lines"]
    assert INCIDENT.splitlines()[-2] in page
