"""The page as one text. It may run its own script and use its own style, both named by their hashes; nothing else at all."""

import base64
import hashlib
from functools import cache
from importlib.resources import files

from fleetops.model.page import FleetPage
from fleetops.render.html.charts import frame_data
from fleetops.render.html.fleet import grid, headline, in_order, runs, title
from fleetops.render.html.host import host_part
from fleetops.render.html.symbols import symbols
from fleetops.render.html.tags import Markup, tag
from fleetops.render.html.words import offset_s

_MANY = 60
_NOBODY = "default-src 'none'; base-uri 'none'; form-action 'none'"


def report_page(page: FleetPage) -> str:
    """A whole HTML document, in UTF-8."""
    style, script = _style(), _script()
    allowed = f"{_NOBODY}; style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=allowed),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title(page)),
        Markup(f"<style>{style}</style>"),
    )
    parts = [host_part(host, page) for host in in_order(page.hosts)]
    body = tag(
        "body",
        tag("a", "To the hosts", href="#hosts", class_="skip"),
        symbols(),
        headline(page),
        tag("main", grid(page), *parts, runs(page)),
        frame_data(page, offset_s(page.at)),
        Markup(f"<script>{script}</script>"),
        class_="many" if len(page.hosts) > _MANY else None,
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _style() -> str:
    return f"{_asset('uplot/uPlot.min.css')}\n{_asset('page.css')}"


@cache
def _script() -> str:
    """The library with its licence, which goes where it goes, then the page's own."""
    licence = _asset("uplot/LICENSE").replace("*/", "* /")
    return f"/*\n{licence}\n*/\n{_asset('uplot/uPlot.iife.min.js')}\n{_asset('page.js')}"


def _asset(name: str) -> str:
    return files("fleetops.render.html").joinpath(name).read_text(encoding="utf-8")
