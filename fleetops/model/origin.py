"""What an inventory says of one host or profile, value by value, and where each value comes from."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One value.

    Attributes:
        key: as in the file, nested keys with a dot (`guest.id`, `flags.hicache-size`).
        value: as it would stand in the file; None where it is left out and has no default. Secrets are masked.
        source: `fleet.yaml:14:5`, `default`, or in words what happens where the key is left out.
    """

    key: str
    value: Any
    source: str


@dataclass(frozen=True, kw_only=True)
class Described:
    """One entry of the inventory. `kind` is as the file has it, in the singular; `source` is where it stands."""

    kind: Literal["node", "hypervisor", "profile"]
    name: str
    source: str
    settings: tuple[Setting, ...]
