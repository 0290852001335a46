"""Steps that other packages bring, by the entry point group `fleetops.steps`: found by name, loaded only when one is asked for.

A package that cannot be loaded, or brings what is no step, is an error that names it; it breaks nothing else.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import Distribution, EntryPoint, distributions
from pathlib import Path
from traceback import extract_tb
from typing import Any, TypeVar

from fleetops.model.errors import FleetopsError
from fleetops.model.exit import Exit
from fleetops.steps.support.base import Skip, Step

GROUP = "fleetops.steps"
OPTION_KINDS = ("duration", "whole", "switch")

T = TypeVar("T")


class StepUnusable(FleetopsError):  # noqa: N818 - named for what the user reads
    """A package's step that cannot be taken, or that has failed in a way that no step may."""

    exit_code = Exit.USAGE
    kind = "step-unusable"


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A step that a package brings. `refused`: why it is not taken, "" where it is; `package`: its name and release."""

    step: str
    package: str
    point: EntryPoint | None = None
    refused: str = ""

    @property
    def told(self) -> str:
        """Which step of whom."""
        return f"step {self.step} of package {self.package}" if self.step else f"package {self.package}"


class Steps(Mapping[str, Step]):
    """Every step by its name: the shipped ones, and those of packages, each of which is loaded when it is asked for.

    Asking for one raises StepUnusable where its package cannot give it. Nothing is imported to list their names.
    """

    def __init__(self, shipped: Mapping[str, Step]) -> None:
        self._shipped = shipped
        self._loaded: dict[str, Step] = {}

    @cached_property
    def offers(self) -> tuple[Offer, ...]:
        """What packages bring, refused steps included."""
        found = [offer for one in _packages() for offer in _offers_of(one)]
        times = Counter(offer.step for offer in found)
        return tuple(self._judged(offer, found if times[offer.step] > 1 else []) for offer in found)

    def _judged(self, offer: Offer, found: list[Offer]) -> Offer:
        if offer.step in self._shipped:
            return replace(offer, refused="a shipped step has that name")
        others = [one.package for one in found if one.step == offer.step and one is not offer]
        if offer.step and others:
            return replace(offer, refused=f"package {', '.join(others)} brings a step of that name as well")
        return offer

    def __getitem__(self, name: str) -> Step:
        if name in self._shipped:
            return self._shipped[name]
        if name not in self._loaded:
            offer = next((one for one in self.offers if one.step == name), None)
            if offer is None or not name:
                raise KeyError(name)
            self._loaded[name] = load(offer)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._shipped or any(one.step == name for one in self.offers if one.step)

    def __iter__(self) -> Iterator[str]:
        yield from self._shipped
        yield from dict.fromkeys(
            one.step for one in self.offers if one.step and one.step not in self._shipped
        )

    def __len__(self) -> int:
        return sum(1 for _ in self)


def load(offer: Offer) -> Step:
    """The step itself. Raises StepUnusable, naming the package, for whatever stands against it."""
    if offer.refused or offer.point is None:
        raise _unusable(offer, f"is refused: {offer.refused}")
    try:
        found = offer.point.load()
    except (Exception, SystemExit) as error:
        raise _unusable(offer, f"could not be loaded from {offer.point.value}: {_said(error)}") from error
    if wrong := _fault(found, offer.step):
        raise _unusable(offer, f"cannot be used: {offer.point.value} {wrong}")
    step: Step = found
    return replace(
        step,
        plan=_owned(offer, "plan", step.plan),
        run=_owned(offer, "run", step.run),
        takes_s=_owned(offer, "takes_s", step.takes_s),
    )


def _packages() -> Iterator[Distribution]:
    """Each installed package once: the first on the path is the one that Python imports."""
    seen: set[str] = set()
    for one in distributions():
        name = _title(one).partition(" ")[0].lower()
        if name not in seen:
            seen.add(name)
            yield one


def _title(one: Distribution) -> str:
    """Name and release; a package whose metadata is broken goes by its folder."""
    try:
        return f"{one.metadata['Name']} {one.version}"
    except Exception:  # noqa: BLE001 - whatever is wrong with it is somebody else's, and is told by its place
        return str(getattr(one, "_path", "without a name"))


def _offers_of(one: Distribution) -> list[Offer]:
    try:
        points = [point for point in one.entry_points if point.group == GROUP]
    except Exception as error:  # noqa: BLE001 - see above
        return [
            Offer(step="", package=_title(one), refused=f"its entry points cannot be read: {_said(error)}")
        ]
    return [Offer(step=point.name, package=_title(one), point=point) for point in points]


def _fault(found: Any, name: str) -> str:
    """What is wrong with what an entry point gave; "" where it is the step that it says."""
    if not isinstance(found, Step):
        return f"is no fleetops.steps.support.base.Step, but {type(found).__name__}"
    if found.name != name:
        return f"calls itself {found.name}"
    kinds = [spec.kind for spec in found.options.values() if spec.kind not in OPTION_KINDS]
    if kinds:
        return f"has an option of kind {kinds[0]}; there are {', '.join(OPTION_KINDS)}"
    return ""


def _owned(offer: Offer, what: str, call: Callable[..., T]) -> Callable[..., T]:
    """A defect in a package's step is told as its own."""

    def owned(*args: Any) -> T:
        try:
            return call(*args)
        except (FleetopsError, Skip):
            raise
        except Exception as error:
            raise _unusable(offer, f"has failed in its {what}: {_said(error)}{_where(error)}") from error

    return owned


def _unusable(offer: Offer, why: str) -> StepUnusable:
    name = offer.package.partition(" ")[0]
    hint = f"mend or remove the package {name}; steps of packages: fleetops playbook list"
    return StepUnusable(f"{offer.told} {why}", hint=hint)


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")


def _where(error: BaseException) -> str:
    frames = extract_tb(error.__traceback__)
    return f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
