"""What the engine's own check of the size will say on a node: its window of valid values differs by release.

SGLang, facts of its releases: up to 0.5.18 every rank compares its own pool alone with all that the machine has available
less 10 GiB; from 0.5.19 on with its part of that; up to 0.5.14 a pool that is not larger than the device's ends the launch.
"""

from fleetops.model.kv import KvCache
from fleetops.model.proof import Explanation
from fleetops.model.size import EngineWindow
from fleetops.model.sizing import UNIT_BYTES
from fleetops.model.units import GIB
from fleetops.sizing.releases import is_at_least

LEFT_ALONE_BYTES = 10 * GIB
SMALL_PASSES_FROM = "0.5.15"


def window_of(
    explanation: Explanation,
    *,
    ranks: int,
    available_bytes: int | None,
    kv: KvCache | None,
    device_tokens: int | None,
) -> EngineWindow | None:
    """The window on a node; None where the engine makes no check that was found.

    Args:
        explanation: with the check as the source has it; whether it divides by ranks is taken from there.
        ranks: on this node.
        available_bytes: the node's own MemAvailable.
        kv: bytes of a token on one rank.
        device_tokens: of the GPU pool of one rank: with `kv`, they are the least size that passes.
    """
    check, unit = explanation.check, UNIT_BYTES.get(explanation.unit)
    if check is None or unit is None or explanation.scope != "per-rank":
        return None
    above, missing = _least(explanation, unit, kv, device_tokens)
    up_to = None
    if available_bytes is not None and check.sound is not None:
        budget = max(0, available_bytes - LEFT_ALONE_BYTES)
        up_to = (budget // ranks if check.sound else budget) / unit
    return EngineWindow(
        place=f"{check.file}:{check.line}",
        above=above,
        up_to=up_to,
        sound=check.sound,
        why=check.why,
        missing=missing,
    )


def _least(
    explanation: Explanation, unit: int, kv: KvCache | None, device_tokens: int | None
) -> tuple[float | None, str]:
    """The size that must be exceeded, and the number that is missing to say it."""
    if explanation.engine != "sglang" or not explanation.version:
        return None, ""
    if is_at_least(explanation.version, SMALL_PASSES_FROM):
        return None, ""
    if device_tokens is None:
        return None, "device tokens"
    if kv is None:
        return None, "bytes of a token"
    return device_tokens * kv.bytes_per_token / unit, ""
