"""The page as a text: complete, well nested, self-contained, and deaf to what a host's words would have it do."""

import base64
import hashlib
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from parsed_page import ParsedPage
from report_week import (
    HOSTS,
    NOW,
    SINCE,
    Week,
    found,
    launches,
    numbers_of,
    run,
    times,
    told,
    tracked,
)
from report_week import (
    week as the_week,
)

from fleetops.fleet.page import Told, fleet_page
from fleetops.model.finding import Severity
from fleetops.model.page import Figure, Mark
from fleetops.render.html.page import report_page
from fleetops.render.typed import name_inventory

HTML = Path(report_page.__code__.co_filename).parent
# What would do harm in a text, in an attribute, in JSON within a script, and on a terminal.
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</script><svg onload=alert(1)>",
    "<!--",
    "&lt;b&gt; & \u202e\x1b[31m \udcff",
)


@pytest.fixture(scope="module")
def parsed(text):
    return ParsedPage(text)


def test_it_is_well_nested(parsed):
    assert parsed.faults == []
    assert parsed.named("html") == [{"lang": "en"}]
    assert len(parsed.ids) == len(set(parsed.ids))


def test_every_host_is_in_the_grid_and_has_its_section(parsed):
    links = {link["href"] for link in parsed.named("a")}
    for host in HOSTS:
        assert f"#host-{host.name}" in links
        assert f"host-{host.name}" in parsed.ids


def test_every_link_leads_to_a_place_of_the_page(parsed):
    targets = {link["href"].removeprefix("#") for link in parsed.named("a")}
    assert targets <= set(parsed.ids)
    assert {use["href"].removeprefix("#") for use in parsed.named("use")} <= set(parsed.ids)


def test_nothing_is_fetched_from_anywhere(parsed):
    for name, attributes in parsed.elements:
        assert name not in {"link", "iframe", "object", "embed", "img", "base", "form"}, name
        assert "src" not in attributes
        assert "style" not in attributes  # which the policy would refuse as well
        assert not [value for value in attributes.values() if value and "://" in value]
    style = parsed.blocks[0]
    assert "url(" not in style
    assert "@import" not in style


def test_the_policy_allows_the_pages_own_script_and_style_by_their_hashes_and_nothing_else(parsed):
    (policy,) = [
        meta["content"]
        for meta in parsed.named("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules.keys() == {"default-src", "base-uri", "form-action", "style-src", "script-src"}
    assert {rules[name] for name in ("default-src", "base-uri", "form-action")} == {"'none'"}
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(block.encode()).digest()).decode()}'"
        for block in parsed.blocks
    ]
    assert rules["style-src"] == hashes[0]
    assert rules["script-src"] == hashes[-1]


def test_the_librarys_licence_goes_where_it_goes(parsed):
    assert "Permission is hereby granted, free of charge" in parsed.blocks[-1]


def test_headings_are_in_order(parsed):
    levels = [int(name[1]) for name, _ in parsed.elements if re.fullmatch(r"h[1-6]", name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= one + 1 for one, later in pairwise(levels))


def test_it_tells_the_incident_without_its_script(parsed):
    told = " ".join(" ".join(parsed.texts).split())
    for words in (
        "8 of 8 defunct since 14:02; 439 of 449 GB gone, 9.6 GB available",
        "fleetops recover node-176 --dry-run",
        "hicache_size 300 per rank",
        "ready in 5 min 12 s, 231,120 device tokens, 912 tok/s",
        "9.6 GB least",
        "critical Thu 26 Nov 14:06 to 15:01 55 min, 11 sweeps",
        "1 critical",
        "7 well",
        "the tokenizer's cache, fixed in the next image",
        "Times are UTC",
    ):
        assert words in told, words


def test_what_was_last_read_long_ago_is_not_told_as_of_now(parsed):
    labels = {
        one["aria-label"].split(" over")[0]: one["aria-label"]
        for _, one in parsed.elements
        if one.get("class") == "chart"
    }
    assert "now " in labels["Host memory available of node-178"]
    assert "now " not in labels["GPU memory used of node-178"]
    assert "on Sun 29 Nov 09:56 " in labels["GPU memory used of node-178"]


def test_a_host_that_was_well_long_ago_says_how_long(week):
    old = replace(week.hosts[0], swept_at=NOW - 3 * 3600)
    tiles = [
        re.sub(r"<[^>]*>", " ", tile)
        for tile in re.findall(
            r'class="tile ok">(.*?)</a>', report_page(replace(week, hosts=(old, week.hosts[1])))
        )
    ]
    assert ["ago" in tile for tile in tiles] == [True, False]
    assert "swept 3 h ago" in tiles[0]


def test_charts_are_told_in_words(parsed):
    labels = [one["aria-label"] for _, one in parsed.elements if one.get("class") == "chart"]
    assert len(labels) == 8 * 2 + 2
    assert all(
        re.search(r"(now|on .*) .* G(i)?B, least .* G(i)?B, most .* G(i)?B", label) for label in labels
    )


def test_a_tile_says_in_words_what_it_shows_in_colour(text):
    for tile, severity in re.findall(r'<a href="#host-[^"]*" class="tile (\w+)">(.*?)</a>', text):
        assert {"ok": "well"}.get(tile, tile) in re.sub(r"<[^>]*>", " ", severity)


def test_what_is_to_be_typed_names_the_inventory_that_the_command_was_given(week):
    import contextvars

    def page():
        name_inventory(["--lab"], ["recover", "probe"])
        return report_page(week)

    assert "fleetops recover --lab node-176 --dry-run" in contextvars.Context().run(page)


@pytest.mark.parametrize("words", HOSTILE)
def test_no_word_of_a_host_becomes_markup(words, week, parsed):
    """In every place that a host's, an operator's or an engine's words can reach."""
    host = HOSTS[0].name
    hostile = Told(
        tracked=[
            found(host, words, Severity.CRITICAL, words, words, words, SINCE, acknowledged=words),
            found(host, words, Severity.WARNING, words, words, words, SINCE, silenced_until=NOW + 60),
            found(host, words, Severity.WARNING, words, words, words, SINCE, cleared_at=NOW - 60),
        ],
        launches=[replace(launches()[0], node=host, profile=words, run_id=words)],
        runs=[replace(run("1", words, host, NOW - 60, 4, words, words), run_id=words)],
    )
    named = replace(week.hosts[1], figures=(Figure(name=words, latest=1, at=0, least=1, most=1, samples=1),))
    page = fleet_page(the_week(3600), hostile, HOSTS[:1], since=SINCE, at=NOW)
    page = replace(page, hosts=(*page.hosts, replace(named, name="node-172", about=(words,), marks=(
        Mark(at=NOW - 60, kind="run", what=words, note=words),))))  # fmt: skip
    read = ParsedPage(report_page(page))
    assert read.faults == []
    assert read.comments == []
    assert {name for name, _ in read.elements} <= {name for name, _ in parsed.elements}
    attributes = {key for _, one in read.elements for key in one}
    assert attributes <= {key for _, one in parsed.elements for key in one}
    assert len(read.named("script")) == 2 + len(page.hosts)
    shown = "".join(read.texts)
    assert shown.count(words.splitlines()[0].split("\u202e")[0]) >= 12
    assert not set(shown) & {"\x1b", "\u202e", "\udcff"}


def test_a_hostile_name_of_a_host_ends_no_data_block(week):
    page = replace(week, hosts=(replace(week.hosts[0], name='a"</script><b>'),), runs=())
    read = ParsedPage(report_page(page))
    assert read.faults == []
    assert len(read.named("script")) == 3


def test_a_host_that_was_never_swept_is_not_called_well():
    page = fleet_page(Week({}, {}, None), Told(tracked=()), HOSTS[:1], since=SINCE, at=NOW)
    read = ParsedPage(report_page(page))
    told = " ".join(" ".join(read.texts).split())
    assert "1 not swept" in told
    assert "fleetops sweep node-171" in told
    assert "No sweep is remembered." in told
    assert "well" not in told


def test_what_is_silenced_is_shown_and_does_not_count(week):
    mine = [replace(one, silenced_until=NOW + 3600) for one in tracked() if one.finding.host == "node-176"]
    page = fleet_page(the_week(3600), Told(tracked=mine), [HOSTS[5]], since=SINCE, at=NOW)
    assert page.hosts[0].severity is Severity.OK
    text = report_page(page)
    assert "silenced until" in text
    assert 'class="critical silenced"' in text


def test_a_thousand_hosts_of_a_week_stay_small(week):
    """Each at its worst: as many points as may be drawn, no two cells alike, fifty numbers, a finding, four marks."""
    hosts = [replace(HOSTS[3], name=f"node-{number:04}") for number in range(1000)]
    alike = Week(
        {"node-0000": [(at, Severity(place % 4)) for place, at in enumerate(times(7200))]},
        {"node-0000": numbers_of("node-174")},
    )
    one = fleet_page(alike, told(), hosts, since=SINCE, at=NOW)
    first = one.hosts[0]
    assert all(len(curve.points) <= 2 * one.cells + one.cells for curve in first.curves.values())
    numbers = tuple(Figure(name=f"gpu-GPU-1a2b3c4d-{n}-some-count", latest=1.5e9, at=NOW, least=1.4e9, most=1.6e9, samples=9) for n in range(50))  # fmt: skip
    filled = replace(first, figures=numbers, found=tracked()[:1], severity=Severity.CRITICAL)
    few, more = (
        len(report_page(replace(one, hosts=tuple(replace(filled, name=host.name) for host in hosts[:count]))))
        for count in (1, 21)
    )
    assert few + 999 * (more - few) / 20 < 15_000_000


def test_one_host_is_tiny_beside_the_library(week, text):
    alone = replace(week, hosts=week.hosts[:1], runs=())
    assert len(report_page(alone).encode()) < 110_000


def test_the_page_is_the_same_each_time(week, text):
    assert report_page(week) == text


def luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def tokens():
    css = (HTML / "page.css").read_text()
    blocks = re.findall(r":root \{(.*?)\}", css, flags=re.DOTALL)
    return [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block)) for block in blocks[:2]]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_enough_to_read_by(scheme):
    """4.5 to 1 for text (WCAG 2.2, 1.4.3), 3 to 1 for what is drawn (1.4.11)."""
    colours = tokens()[["light", "dark"].index(scheme)]
    for text in ("ink", "dim", "link", "ok", "warning", "critical", "unknown", "none"):
        for ground in ("ground", "raised"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for severity in ("warning", "critical", "unknown"):
        for text in (severity, "ink"):
            assert contrast(colours[text], colours[f"tint-{severity}"]) >= 4.5, (text, severity)
    assert contrast(colours["curve"], colours["ground"]) >= 3
