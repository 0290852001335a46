"""Attempts at a node's larger remedies, as the host that counts them remembers them."""

from dataclasses import dataclass

from fleetops.model.fact import Key


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One run that has reset a node's GPUs or switched its power, or was about to.

    Attributes:
        by: who ran it, and on which controller.
        ago_s: how long ago, by the uptime of the host that counts.
    """

    run_id: str
    by: str
    ago_s: float


ATTEMPTS: Key[tuple[Attempt, ...]] = Key("attempts")
