"""Numbers over time: what the page's script draws, and the same in words for whoever does not see it drawn."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from fleetops.model.page import Curve, Figure, FleetPage, HostPage
from fleetops.model.units import GB, GIB
from fleetops.render.html.tags import Markup, data_block, joined, tag
from fleetops.render.html.words import as_of, quantity

_TITLES = {
    "mem-available-bytes": "Host memory available",
    "gpu-memory-used-bytes": "GPU memory used",
}
# One decimal of these is drawn: a tenth of a pixel at most.
_UNITS = {"mem-available-bytes": ("GB", GB), "gpu-memory-used-bytes": ("GiB", GIB)}


def charts(host: HostPage) -> Markup:
    """A figure for each curve, and the data of them all."""
    drawn = [curve for name in _TITLES if (curve := host.curves.get(name)) is not None]
    if not drawn:
        return Markup()
    figures = [_figure(host, curve, place) for place, curve in enumerate(drawn)]
    return joined(
        [
            tag("h3", "Memory"),
            tag("div", *figures, class_="charts"),
            data_block(f"data-{host.name}", _data(host, drawn)),
        ]
    )


def frame_data(page: FleetPage, offset_s: int) -> Markup:
    """What all charts share: the stretch of time, and how far its clock is ahead of UTC."""
    return data_block("frame", {"since": round(page.since), "at": round(page.at), "offset": offset_s})


def _figure(host: HostPage, curve: Curve, place: int) -> Markup:
    title, said = _TITLES[curve.figure.name], _in_words(host, curve.figure)
    numbers = [tag("span", tag("b", value), f" {name}") for name, value in said]
    spoken = ", ".join(f"{name} {value}" for name, value in said)
    done = f"; {len(host.marks)} marks: see the list" if host.marks else ""
    return tag(
        "figure",
        tag("figcaption", tag("h4", title), tag("p", *numbers, class_="numbers")),
        tag(
            "div",
            class_="chart",
            role="img",
            aria_label=f"{title} of {host.name} over time: {spoken}{done}",
            data_host=host.name,
            data_curve=str(place),
        ),
        tag("p", class_="readout", aria_hidden="true"),
    )


def _in_words(host: HostPage, figure: Figure) -> list[tuple[str, str]]:
    return [
        (as_of(figure.at, host.swept_at), quantity(figure.name, figure.latest)),
        ("least", quantity(figure.name, figure.least)),
        ("most", quantity(figure.name, figure.most)),
    ]


def _data(host: HostPage, drawn: Sequence[Curve]) -> dict[str, Any]:
    return {
        "curves": [_curve_data(curve) for curve in drawn],
        "marks": [[round(one.at), one.kind] for one in host.marks],
    }


def _curve_data(curve: Curve) -> dict[str, Any]:
    """Times as distances from the one before, values in tenths of the unit: a third of the bytes."""
    unit, size = _UNITS[curve.figure.name]
    times = [round(at) for at, _ in curve.points]
    return {
        "unit": unit,
        "begin": times[0] if times else 0,
        "steps": [later - one for one, later in pairwise(times)],
        "tenths": [None if value is None else round(value / size * 10) for _, value in curve.points],
    }
