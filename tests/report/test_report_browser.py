"""The page in Debian's Chromium: drawn, quiet, narrow enough for a phone, dark where that is asked for, and for every hand."""

import re

import pytest

INK = "getComputedStyle(document.body).color"
GROUND = "getComputedStyle(document.body).backgroundColor"
OVERFLOW = """[...document.querySelectorAll('body *')]
    .filter(one => one.getBoundingClientRect().right > innerWidth + .5 && !one.closest('.symbols'))
    .map(one => `${one.tagName}.${one.className.baseVal ?? one.className}`)"""
# How many of a canvas's pixels are drawn upon.
DRAWN = """[...document.querySelectorAll('.chart canvas')].map(one => one.getContext('2d')
    .getImageData(0, 0, one.width, one.height).data.filter((value, place) => place % 4 == 3 && value).length)"""
ALL_OPEN = "document.querySelectorAll('details').forEach(one => one.open = true)"
NO_MOTION = "document.documentElement.style.scrollBehavior = 'auto'"


def opened(browser, path, *, width=1200, height=900, scheme="light", media="screen", script=True):
    browser.size(width, height, mobile=width < 500)
    browser.prefer(scheme, media)
    browser.open(path, script=script)
    if script:
        browser.settle()
    return browser


def go_to(browser, host):
    browser.ask(f"{NO_MOTION}, location.hash = '#host-{host}'")
    for _ in range(20):
        browser.settle()
        if browser.ask(f"!!document.querySelector('#host-{host} canvas')"):
            return


def test_it_draws_without_a_complaint_and_asks_for_nothing(browser, page_file):
    opened(browser, page_file)
    go_to(browser, "node-174")
    pixels = browser.ask(DRAWN)
    assert len(pixels) >= 2
    assert min(pixels) > 5_000
    assert browser.complaints() == []
    assert browser.requested() == [page_file.as_uri()]


def test_only_what_is_looked_at_is_drawn(browser, page_file):
    opened(browser, page_file, height=400)
    assert browser.ask("document.querySelectorAll('.chart canvas').length") < browser.ask(
        "document.querySelectorAll('.chart').length"
    )


def test_the_policy_holds_what_is_put_in_from_outside(browser, page_file):
    opened(browser, page_file)
    browser.ask("""document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.evil = 1'})),
        document.body.append(Object.assign(document.createElement('img'), {src: 'https://198.51.100.1/x.png'}))""")
    browser.settle()
    assert browser.ask("window.evil") is None
    assert len([one for one in browser.complaints() if "Content Security Policy" in one]) == 2


@pytest.mark.parametrize("width", [360, 320, 768, 1200])
def test_nothing_hangs_over_the_side(browser, page_file, width):
    opened(browser, page_file, width=width)
    browser.ask(ALL_OPEN)
    go_to(browser, "node-174")
    browser.settle()
    assert browser.ask("document.documentElement.scrollWidth") <= width
    assert browser.ask(OVERFLOW) == []


def test_a_chart_follows_the_width(browser, page_file):
    opened(browser, page_file, width=1200)
    go_to(browser, "node-174")
    browser.size(360, 900)
    browser.settle()
    browser.settle()
    assert browser.ask("document.querySelector('#host-node-174 .uplot').offsetWidth") <= 328


def test_it_is_dark_where_that_is_preferred_and_the_charts_with_it(browser, page_file):
    grounds, curves = [], []
    for scheme in ("light", "dark"):
        opened(browser, page_file, scheme=scheme)
        grounds.append(sum(map(int, re.findall(r"\d+", browser.ask(GROUND)))))
        curves.append(browser.ask("getComputedStyle(document.documentElement).getPropertyValue('--curve')"))
    assert grounds[0] > 700
    assert grounds[1] < 100
    assert curves[0] != curves[1]


def test_a_change_of_the_preference_draws_the_charts_anew(browser, page_file):
    opened(browser, page_file, scheme="light")
    go_to(browser, "node-174")
    first = "document.querySelector('#host-node-174 canvas').toDataURL()"
    before = browser.ask(first)
    browser.prefer("dark")
    browser.settle()
    browser.settle()
    assert browser.ask(first) != before


def test_without_a_script_all_that_it_says_is_there_and_no_empty_frame(browser, page_file):
    opened(browser, page_file, script=False)
    shown = browser.ask("document.body.innerText")
    for words in (
        "GPU off the bus",
        "9.6 GB least",
        "launch hicache48",
        "fleetops recover node-176 --dry-run",
    ):
        assert words in shown
    assert browser.ask("document.querySelector('.chart').offsetHeight") == 0
    assert browser.ask("document.querySelectorAll('button').length") == 0


def test_every_host_is_reached_by_keyboard(browser, page_file):
    opened(browser, page_file)
    reached = []
    for _ in range(14):
        browser.press("Tab")
        reached.append(browser.ask("document.activeElement.getAttribute('href')"))
    assert reached[0] == "#hosts"
    assert reached[1:4] == [
        "#host-node-176",
        "#host-node-178",
        "#host-node-173",
    ]  # one critical, unknown, warning
    assert reached[4:] == [
        *(f"#host-node-{number}" for number in range(171, 179)),
        "#host-pve-01",
        "#host-pve-02",
    ]
    assert browser.ask("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    browser.press("Enter")
    assert browser.ask("location.hash") == "#host-pve-02"


def test_a_screen_reader_is_given_a_name_for_everything(browser, page_file):
    opened(browser, page_file)
    nodes = [one for one in browser.call("Accessibility.getFullAXTree")["nodes"] if not one["ignored"]]
    by_role: dict[str, list[str]] = {}
    for one in nodes:
        by_role.setdefault(one["role"]["value"], []).append(one.get("name", {}).get("value", ""))
    for role in ("link", "image", "button", "navigation", "region", "heading", "list"):
        assert by_role.get(role), role
    for role in ("link", "image", "button", "navigation", "region", "heading"):
        assert all(by_role[role]), role
    assert {"banner", "main", "navigation"} <= by_role.keys()
    assert "node-176 critical GPU off the bus +1" in [" ".join(name.split()) for name in by_role["link"]]
    assert any("Host memory available of node-176 over time: now" in name for name in by_role["image"])


def test_a_command_is_copied(browser, page_file):
    opened(browser, page_file)
    browser.ask("document.querySelector('.command button').click()")
    browser.ask("new Promise(done => setTimeout(done, 50))")
    assert browser.ask("document.querySelector('.command button').textContent") in {"Copied", "Selected"}


def test_it_prints_dark_on_light_without_what_only_a_screen_has(browser, page_file):
    opened(browser, page_file, scheme="dark", media="print")
    assert browser.ask(GROUND) == "rgb(255, 255, 255)"
    assert browser.ask(INK) == "rgb(0, 0, 0)"
    assert browser.ask("getComputedStyle(document.querySelector('.back')).display") == "none"


def test_a_stretch_is_drawn_across_to_see_it_closer_and_a_double_click_goes_back(browser, page_file):
    opened(browser, page_file)
    go_to(browser, "node-174")
    picture = "document.querySelector('#host-node-174 canvas').toDataURL()"
    x, y, width = browser.ask(
        "(b => [b.x, b.y + 50, b.width])(document.querySelector('#host-node-174 .u-over').getBoundingClientRect())"
    )

    def mouse(kind, share, clicks=1):
        browser.call(
            "Input.dispatchMouseEvent",
            type=kind,
            x=x + width * share,
            y=y,
            button="left",
            clickCount=clicks,
            buttons=1,
        )

    def let_it_draw():
        browser.ask(
            "document.querySelectorAll('.u-over').forEach(one => one.dispatchEvent(new Event('mouseleave')))"
        )
        browser.settle()
        return browser.ask(picture)

    whole = let_it_draw()
    for kind, share in (
        ("mouseMoved", 0.5),
        ("mousePressed", 0.5),
        ("mouseMoved", 0.6),
        ("mouseReleased", 0.6),
    ):
        mouse(kind, share)
    assert let_it_draw() != whole
    for clicks in (1, 2):
        mouse("mousePressed", 0.4, clicks)
        mouse("mouseReleased", 0.4, clicks)
    assert let_it_draw() == whole


def test_a_finger_or_a_mouse_reads_a_value(browser, page_file):
    opened(browser, page_file)
    go_to(browser, "node-174")
    box = browser.ask("(b => [b.x + b.width / 2, b.y + b.height / 2])"
                      "(document.querySelector('#host-node-174 .u-over').getBoundingClientRect())")  # fmt: skip
    browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])
    browser.settle()
    told = browser.ask("document.querySelector('#host-node-174 .readout').textContent")
    assert re.fullmatch(r"(Wed 25|Thu 26) \d\d:\d\d   12\d(\.\d)? GB", told)
