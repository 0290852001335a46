"""Equal answers of many hosts, said once under the hosts that gave them."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from fleetops.model.nodeset import fold_names

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)
class Folded(Generic[T]):
    """One answer and every host that gave it, in the order they came."""

    hosts: tuple[str, ...]
    value: T

    @property
    def label(self) -> str:
        """The hosts as a person writes them: `node-[171-174]`."""
        return fold_names(self.hosts)


def fold(answers: Iterable[tuple[str, T]]) -> tuple[Folded[T], ...]:
    """Equal answers together: what most hosts say comes first, equally large groups in the order they came."""
    groups: dict[T, list[str]] = {}
    for host, value in answers:
        groups.setdefault(value, []).append(host)
    folded = (Folded(tuple(hosts), value) for value, hosts in groups.items())
    return tuple(sorted(folded, key=lambda group: -len(group.hosts)))
