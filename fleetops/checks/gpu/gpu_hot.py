"""A GPU, or its memory, near the temperature at which it slows itself down: the GPU's own limit, not one number for all."""

from fleetops.checks.support.gpus import called, gpus_of, hardware_host
from fleetops.checks.support.saying import found, lacking, listed
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.gpu import GPUS, Gpu

_NAME = "gpu-hot"
_MARGIN = "gpu-temperature-margin-c"


def judge(observation: Observation) -> list[Finding]:
    """A warning within the margin, critical at the limit."""
    if unknown := lacking(_NAME, observation, GPUS):
        return unknown
    margin_c = observation.thresholds[_MARGIN]
    hot = gpus_of(observation, lambda gpu: _is_within(gpu, margin_c))
    if not hot:
        return []
    at_limit = any(_is_within(gpu, 0) for gpu in hot)
    return [
        found(
            _NAME,
            observation,
            Severity.CRITICAL if at_limit else Severity.WARNING,
            "GPU hot",
            listed(map(_said, hot)),
            person=f"check fans and air flow of {hardware_host(observation)}",
        )
    ]


def _is_within(gpu: Gpu, margin_c: float) -> bool:
    room_c = _room_c(gpu)
    return room_c is not None and room_c <= margin_c


def _room_c(gpu: Gpu) -> int | None:
    """Degrees up to the nearer of its limits; None where it states none."""
    rooms = [room for room in (gpu.health.to_slowdown_c, _memory_room_c(gpu)) if room is not None]
    return min(rooms) if rooms else None


def _memory_room_c(gpu: Gpu) -> int | None:
    now_c, limit_c = gpu.health.memory_c, gpu.health.memory_limit_c
    return None if now_c is None or limit_c is None else limit_c - now_c


def _said(gpu: Gpu) -> str:
    health, room_c = gpu.health, _room_c(gpu) or 0
    of_memory = health.to_slowdown_c != room_c
    degrees = health.memory_c if of_memory else health.temperature_c
    what, limit = ("its memory", "its limit") if of_memory else ("it", "where it slows down")
    now = "" if degrees is None else f"{what} has {degrees} C, "
    where = "at" if room_c == 0 else f"{abs(room_c)} C {'below' if room_c > 0 else 'above'}"
    return f"{called(gpu)}: {now}{where} {limit}"


CHECK = Check(name=_NAME, title="no GPU is near its temperature limit", judge=judge, sweeps_only=True)
