"""The shapes that stand beside words: one for each severity, one for each kind of mark. All in a box of 16 by 16."""

from fleetops.render.html.tags import Markup, tag

_SHAPES = {
    # A dot; a triangle; a square with a cross cut out of it; a hollow diamond; a dash.
    "ok": "M8 4.5a3.5 3.5 0 1 0 0 7a3.5 3.5 0 1 0 0-7z",
    "warning": "M8 1.5L15 14H1zM7.1 6h1.8v4H7.1zM7.1 11h1.8v1.8H7.1z",
    "critical": (
        "M1.5 1.5h13v13h-13zM4.2 5.5L6.7 8L4.2 10.5l1.3 1.3L8 9.3l2.5 2.5l1.3-1.3L9.3 8l2.5-2.5l-1.3-1.3L8 6.7"
        "L5.5 4.2z"
    ),
    "unknown": "M8 .5L15.5 8L8 15.5L.5 8zM8 3.3L3.3 8L8 12.7L12.7 8z",
    "none": "M2.5 7h11v2h-11z",
    "launch": "M8 2.5L14 13.5H2z",
    "run": "M8 1.5L14.5 8L8 14.5L1.5 8z",
}


def symbols() -> Markup:
    """Defined once, used by name."""
    drawn = [
        tag("symbol", tag("path", d=shape, fill_rule="evenodd"), id=f"is-{name}", viewBox="0 0 16 16")
        for name, shape in _SHAPES.items()
    ]
    return tag("svg", *drawn, class_="symbols", aria_hidden="true")
