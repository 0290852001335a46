"""What other packages bring to fleetops, by the entry points of a group: found by name, loaded only when asked for.

A package that cannot be loaded, or brings something else than it says, is an error that names it; it breaks nothing else.
"""

import sys
from collections import Counter
from collections.abc import Container, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from importlib.metadata import Distribution, EntryPoint, distributions
from pathlib import Path
from traceback import extract_tb
from typing import Any


class Unloadable(Exception):  # noqa: N818 - it says what is so
    """Why what a package offers cannot be had; the message goes on after `Offer.told`."""


@dataclass(frozen=True, kw_only=True)
class Offer:
    """One thing that a package brings.

    Attributes:
        kind: what it is: step, check.
        name: "" where the package's entry points cannot even be read.
        package: its name and release.
        refused: why it is not taken, "" where it is.
    """

    kind: str
    name: str
    package: str
    point: EntryPoint | None = None
    refused: str = ""

    @property
    def told(self) -> str:
        """Which thing of whom."""
        return (
            f"{self.kind} {self.name} of package {self.package}" if self.name else f"package {self.package}"
        )

    @property
    def project(self) -> str:
        """What an installer calls the package."""
        return self.package.partition(" ")[0]

    @property
    def place(self) -> str:
        """The module and the name in it."""
        return self.point.value if self.point else ""

    def load(self) -> Any:
        """The thing itself. Raises Unloadable for whatever stands against it."""
        if self.refused or self.point is None:
            raise Unloadable(f"is refused: {self.refused}")
        try:
            with redirect_stdout(sys.stderr):  # what it prints is no part of what fleetops says
                return self.point.load()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise Unloadable(f"could not be loaded from {self.place}: {said(error)}") from error


def offers(group: str, kind: str, shipped: Container[str]) -> tuple[Offer, ...]:
    """What packages bring in that group, what is refused included: a name is had by one thing, shipped ones first."""
    found = [offer for one in _packages() for offer in _offers_of(one, group, kind)]
    times = Counter(offer.name for offer in found)
    return tuple(_judged(offer, found if times[offer.name] > 1 else [], shipped) for offer in found)


def said(error: BaseException) -> str:
    """What went wrong in somebody else's code."""
    return f"{type(error).__name__}: {error}".rstrip(": ")


def said_where(error: BaseException) -> str:
    """The same, with the line in which it did."""
    frames = extract_tb(error.__traceback__)
    return said(error) + (f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else "")


def _judged(offer: Offer, found: list[Offer], shipped: Container[str]) -> Offer:
    if offer.name in shipped:
        return replace(offer, refused=f"a shipped {offer.kind} has that name")
    others = [one.package for one in found if one.name == offer.name and one is not offer]
    if offer.name and others:
        return replace(
            offer, refused=f"package {', '.join(others)} brings a {offer.kind} of that name as well"
        )
    return offer


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


def _offers_of(one: Distribution, group: str, kind: str) -> list[Offer]:
    try:
        points = [point for point in one.entry_points if point.group == group]
    except Exception as error:  # noqa: BLE001 - see above
        why = f"its entry points cannot be read: {said(error)}"
        return [Offer(kind=kind, name="", package=_title(one), refused=why)]
    return [Offer(kind=kind, name=point.name, package=_title(one), point=point) for point in points]
