"""Which flags `size` counts with: a setting of any other would be left out of the answer without a word."""

from collections.abc import Iterable
from difflib import get_close_matches

from fleetops.engines import engines
from fleetops.fleet.size_given import Given
from fleetops.model.errors import UsageError
from fleetops.model.fleet import Profile
from fleetops.sizing.shape import READ_FLAGS
from fleetops.steps.support.proof import flags_to_prove

_RANKS = ("nnodes",)


def refuse_unread(given: Given, profiles: Iterable[Profile]) -> None:
    """Raise UsageError for a setting that no answer for any of these profiles would look at."""
    known: set[str] = {*READ_FLAGS, *_RANKS, *([given.flag] if given.flag else ())}
    counted = {one.name: one.counted_flags for one in engines()}
    for profile in profiles:
        known |= {*counted.get(profile.engine, ()), *(flag.name for flag in profile.flags)}
        known |= {flag.name for flag in flags_to_prove(given.applied(profile))}
    for name in given.settings:
        if name not in known:
            raise UsageError(f"--set {name}: size does not count with a flag {name}", hint=_hint(name, known))


def _hint(name: str, known: set[str]) -> str:
    near = get_close_matches(name, sorted(known), n=1)
    return f"did you mean {near[0]}?" if near else f"--flag {name} sizes it, where the source has such a flag"
