"""A model's KV cache: its config.json, what one token takes on one rank, and pools of whole pages."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fleetops.model.fact import Key


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """A model's config.json as it lies on a host.

    Attributes:
        path: where it was read.
        config: the object in it.
    """

    path: str
    config: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Beside:
    """A host pool that comes on top of a flag's size, on each rank.

    Attributes:
        share: of one whole pool's bytes; None where nothing tells how large it is.
    """

    label: str
    share: Fraction | None


@dataclass(frozen=True, kw_only=True)
class KvCache:
    """What the KV cache takes in host memory.

    Attributes:
        bytes_per_token: of one token in the pool that the flag sizes, on one rank.
        layers: how many that counts.
        detail: how that number comes about, in words.
        inexact: why counts of tokens are not exact; empty where they are.
    """

    bytes_per_token: int
    layers: int
    detail: str
    inexact: tuple[str, ...] = ()

    @property
    def is_exact(self) -> bool:
        """Counts of tokens that follow from it are exact to the token."""
        return not self.inexact


@dataclass(frozen=True, kw_only=True)
class HostPool:
    """A host pool of one rank: whole pages."""

    tokens: int
    size_bytes: int


MODEL_CONFIG: Key[ModelConfig] = Key("model-config")
