"""A GPU that is slowed down by its hardware: too hot, or told by the machine to save power.

The reasons are separate bits: an idle GPU, or one at its power cap, is slowed down as it should be. One sighting is a
moment; what counts is for which part of the time it was so. Newer drivers count that themselves, in microseconds; of
others it is the part of the sweeps that saw it (GPUd judges so as well: 0.6 sightings a minute over ten).
"""

from fleetops.checks.support.gpus import called, gpus_of, hardware_host
from fleetops.checks.support.saying import found, lacking, listed
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.gpu import GPUS, Gpu
from fleetops.model.past import Remembered, Sample

_NAME = "gpu-throttled"
_SHARE, _WINDOW = "gpu-slowdown-share", "gpu-slowdown-window-s"
_HARDWARE = ("hw_thermal_slowdown", "hw_power_brake_slowdown")
_REASONS = {
    "hw_slowdown": "slowed down by hardware",
    "hw_thermal_slowdown": "too hot (hardware)",
    "hw_power_brake_slowdown": "power brake",
    "sw_thermal_slowdown": "too hot (driver)",
}
_FEWEST_SWEEPS = 3


def judge(observation: Observation) -> list[Finding]:
    """Critical where hardware slows one down for a large part of the time; else a warning that it does so now."""
    if unknown := lacking(_NAME, observation, GPUS):
        return unknown
    shares = {gpu.uuid: _share(observation, gpu) for gpu in gpus_of(observation)}
    limit = observation.thresholds[_SHARE]
    long = gpus_of(observation, lambda gpu: (shares[gpu.uuid] or 0) >= limit)
    now = gpus_of(observation, lambda gpu: gpu not in long and bool(_active(gpu)))
    findings = []
    if long:
        window_min = observation.thresholds[_WINDOW] / 60
        said = listed(f"{called(gpu)} {shares[gpu.uuid]:.0f} % of it{_why(gpu)}" for gpu in long)
        evidence = (
            f"slowed down by hardware in the last {window_min:.0f} min: {said}; the limit is {limit:g} %"
        )
        person = f"check cooling and power supplies of {hardware_host(observation)}"
        findings.append(
            found(_NAME, observation, Severity.CRITICAL, "GPU slow for long", evidence, person=person)
        )
    if now:
        evidence = f"at this moment: {listed(f'{called(gpu)}{_why(gpu)}' for gpu in now)}"
        findings.append(
            found(_NAME, observation, Severity.WARNING, "GPU slowed down", evidence, command="probe")
        )
    return findings


def _active(gpu: Gpu) -> list[str]:
    return [reason for reason in gpu.health.slowed_by or () if reason in _REASONS]


def _why(gpu: Gpu) -> str:
    active = [_REASONS[reason] for reason in _active(gpu)]
    return f" ({', '.join(active)})" if active else ""


def _by_hardware(gpu: Gpu) -> bool:
    return any(reason.startswith("hw_") for reason in _active(gpu))


def _share(observation: Observation, gpu: Gpu) -> float | None:
    """Per cent of the window; None where too little is remembered."""
    counted = _share_counted(observation, gpu)
    return _share_seen(observation, gpu) if counted is None else counted


def _share_counted(observation: Observation, gpu: Gpu) -> float | None:
    """By the driver's own counters. One that fell began again, with the driver or a reset."""
    spent_us = _spent_us(gpu)
    samples = _in_window(observation, _spent_name(gpu))
    if spent_us is None or not samples:
        return None
    since = samples[0]
    passed_s = observation.node_facts.at - since.at
    if passed_s <= 0 or spent_us < since.value:
        return None
    return min(100.0, (spent_us - since.value) / 1e6 / passed_s * 100)


def _share_seen(observation: Observation, gpu: Gpu) -> float | None:
    """By how many of the sweeps saw it, this one included."""
    if gpu.health.slowed_by is None:
        return None
    seen = [sample.value for sample in _in_window(observation, _seen_name(gpu))] + [float(_by_hardware(gpu))]
    return sum(seen) / len(seen) * 100 if len(seen) >= _FEWEST_SWEEPS else None


def _in_window(observation: Observation, name: str) -> list[Sample]:
    begins = observation.node_facts.at - observation.thresholds[_WINDOW]
    return [sample for sample in observation.past.series.get(name, ()) if sample.at >= begins]


def _spent_us(gpu: Gpu) -> int | None:
    """The counters overlap, and the larger is the least that it can be; None where the driver has none."""
    counted = dict(gpu.health.slowed_us)
    told = [counted[reason] for reason in _HARDWARE if reason in counted]
    return max(told) if told else None


def _spent_name(gpu: Gpu) -> str:
    return f"gpu-{gpu.uuid}-hw-slowdown-us"


def _seen_name(gpu: Gpu) -> str:
    return f"gpu-{gpu.uuid}-hw-slowdown-seen-count"


def remember(observation: Observation) -> Remembered:
    """Each GPU's counter where the driver has one, else whether it was slowed down."""
    numbers: dict[str, float] = {}
    for gpu in gpus_of(observation):
        spent_us = _spent_us(gpu)
        if spent_us is not None:
            numbers[_spent_name(gpu)] = spent_us
        elif gpu.health.slowed_by is not None:
            numbers[_seen_name(gpu)] = float(_by_hardware(gpu))
    return Remembered(numbers=numbers)


CHECK = Check(name=_NAME, title="no GPU is slowed down by its hardware", judge=judge, sweeps_only=True)
