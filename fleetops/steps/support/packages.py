"""Steps that other packages bring, by the entry point group `fleetops.steps`: loaded only when one is asked for."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

from fleetops.inventory.packages import Offer, Unloadable, offers, said_where
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
        return offers(GROUP, "step", self._shipped)

    def __getitem__(self, name: str) -> Step:
        if name in self._shipped:
            return self._shipped[name]
        if name not in self._loaded:
            offer = next((one for one in self.offers if one.name == name), None)
            if offer is None or not name:
                raise KeyError(name)
            self._loaded[name] = load(offer)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self._shipped or any(one.name == name for one in self.offers if one.name)

    def __iter__(self) -> Iterator[str]:
        yield from self._shipped
        yield from dict.fromkeys(
            one.name for one in self.offers if one.name and one.name not in self._shipped
        )

    def __len__(self) -> int:
        return sum(1 for _ in self)


def load(offer: Offer) -> Step:
    """The step itself. Raises StepUnusable, naming the package, for whatever stands against it."""
    try:
        found = offer.load()
    except Unloadable as error:
        raise _unusable(offer, str(error)) from error
    if wrong := _fault(found, offer.name):
        raise _unusable(offer, f"cannot be used: {offer.place} {wrong}")
    step: Step = found
    return replace(
        step,
        plan=_owned(offer, "plan", step.plan),
        run=_owned(offer, "run", step.run),
        takes_s=_owned(offer, "takes_s", step.takes_s),
    )


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
            raise _unusable(offer, f"has failed in its {what}: {said_where(error)}") from error

    return owned


def _unusable(offer: Offer, why: str) -> StepUnusable:
    hint = f"mend or remove the package {offer.project}; steps of packages: fleetops playbook list"
    return StepUnusable(f"{offer.told} {why}", hint=hint)
