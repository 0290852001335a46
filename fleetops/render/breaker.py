"""The breaker for a person and for a program: whether it is open, what counts, who closed it before."""

from typing import Any

from fleetops.model.breaker import Breaker, BreakerReset
from fleetops.model.jsonable import jsonable
from fleetops.model.nodeset import fold_names
from fleetops.render.output import Output, safe
from fleetops.render.table import columns
from fleetops.render.typed import typed
from fleetops.render.when import show_moment

_STYLES = {"running": "bold", "failed": "bold red", "refused": "yellow", "interrupted": "yellow"}


def show_breaker(output: Output, breaker: Breaker) -> None:
    """How it stands, then every run that counts, then the last time that a person closed it."""
    output.show(safe(_standing(breaker)))
    if breaker.runs:
        rows: list[tuple[str, ...]] = [("node", "run", "what", "since", "status", "")]
        rows += [
            (one.node, one.run_id, one.playbook, show_moment(one.began_at), one.status, _first_line(one.why))
            for one in breaker.runs
        ]
        output.show(columns(rows, styles=_STYLES, indent=2))
    if breaker.resets:
        output.show(safe(f"last closed {_closed(breaker.resets[0])}"))
    if breaker.is_full:
        output.show(
            safe(typed("fleetops breaker reset --why TEXT closes it, once it is known what has gone wrong"))
        )


def show_reset(output: Output, before: Breaker, reset: BreakerReset) -> None:
    """What does not count any more, and what was written down."""
    gone = f"; {fold_names(before.nodes)} no longer counted" if before.nodes else ""
    output.show(safe(f"breaker closed{gone}"))
    output.show(safe(f"  written down: {_closed(reset)}"))


def breaker_json(breaker: Breaker) -> dict[str, Any]:
    """`fleetops.breaker/1`."""
    return {
        "schema": "fleetops.breaker/1",
        "open": breaker.is_full,
        "opened_at": breaker.opened_at,
        "why": breaker.opened_why or (breaker.too_many if breaker.is_full else ""),
        "limit": breaker.limit,
        "nodes": list(breaker.nodes),
        "runs": jsonable(breaker.runs),
        "resets": jsonable(breaker.resets),
    }


def _standing(breaker: Breaker) -> str:
    if breaker.opened_at is not None:
        return f"breaker open since {show_moment(breaker.opened_at)}: {breaker.opened_why}; no other node is recovered"
    if breaker.is_full:
        return f"breaker full: {breaker.too_many}; no other node is recovered"
    counted = f"{len(breaker.nodes)} of {breaker.limit} nodes under recovery or failed"
    return f"breaker closed: {counted}"


def _closed(reset: BreakerReset) -> str:
    return f"{show_moment(reset.at)} by {reset.who}: {reset.why}"


def _first_line(text: str) -> str:
    return text.splitlines()[0] if text else ""
