"""What `nvidia-smi -q -x` tells of one GPU's health; names of elements as in the recordings of drivers 515 to 595.

Renamed over time: `clocks_throttle_reasons` is `clocks_event_reasons` since 535.54; a temperature limit is either in
degrees (`gpu_temp_slow_threshold`) or, on newer parts, a T.Limit: `gpu_temp_tlimit` counts down to the limit, and
`gpu_temp_slow_tlimit_threshold` says at which of its values the GPU slows down (nvidia-smi manual, Temperature).
"""

from collections.abc import Iterable

from fleetops.facts.nvidia_fields import Fields
from fleetops.model.gpu import GpuHealth

_REASONS = {
    "clocks_event_reasons": "clocks_event_reason_",
    "clocks_throttle_reasons": "clocks_throttle_reason_",
}
_COUNTERS = "clocks_event_reasons_counters"
# The counters say `therm` where the reasons say `thermal`, and leave an ending out.
_COUNTED = {
    "hw_therm_slowdown": "hw_thermal_slowdown",
    "sw_therm_slowdown": "sw_thermal_slowdown",
    "hw_power_brake": "hw_power_brake_slowdown",
}
_ACTIVE = {"Active": True, "Not Active": False}


def health_of(fields: Fields) -> GpuHealth:
    """All that is told. What the driver does not know stays None; what it told in unknown words is named in `unread`."""
    retired = "retired_pages/{}_retirement/retired_count"
    link = "pci/pci_gpu_link_info"
    slowed_by = _slowed_by(fields)
    told = {
        "remap_pending": fields.flag("remapped_rows/remapped_row_pending"),
        "remap_failure": fields.flag("remapped_rows/remapped_row_failure"),
        "repair_pending": _either(
            fields.flag(f"ecc_errors/{unit}_repair_pending") for unit in ("channel", "tpc")
        ),
        "sram_threshold_exceeded": fields.flag("ecc_errors/aggregate/sram_threshold_exceeded"),
        "pages_pending": _either(
            fields.flag(f"retired_pages/pending_{word}") for word in ("blacklist", "retirement")
        ),
    }
    return GpuHealth(
        **told,
        rows_corrected=fields.number("remapped_rows/remapped_row_corr"),
        rows_uncorrected=fields.number("remapped_rows/remapped_row_unc"),
        pages_single_bit=fields.number(retired.format("multiple_single_bit")),
        pages_double_bit=fields.number(retired.format("double_bit")),
        slowed_by=slowed_by,
        slowed_us=_slowed_us(fields),
        temperature_c=fields.amount("temperature/gpu_temp", "C"),
        to_slowdown_c=_room_c(fields, "slow"),
        to_shutdown_c=_room_c(fields, "max"),
        memory_c=fields.amount("temperature/memory_temp", "C"),
        memory_limit_c=fields.amount("temperature/gpu_temp_max_mem_threshold", "C"),
        pcie_width=fields.amount(f"{link}/link_widths/current_link_width", "x"),
        pcie_width_max=fields.amount(f"{link}/link_widths/max_link_width", "x"),
        pcie_gen=fields.number(f"{link}/pcie_gen/current_link_gen"),
        pcie_gen_max=fields.number(f"{link}/pcie_gen/max_link_gen"),
        compute_mode=fields.text("compute_mode") or "",
        fabric_status=fields.text("fabric/status") or "",
        fabric_health=fields.text("fabric/health/summary") or "",
        unread=tuple(fields.unread.items()),
    )


def _slowed_by(fields: Fields) -> tuple[str, ...] | None:
    """The active reasons by name; None where the driver tells of none at all."""
    reasons = [
        (tag.removeprefix(prefix), text)
        for path, prefix in _REASONS.items()
        for tag, text in fields.told(path)
    ]
    fields.unread.update({name: text for name, text in reasons if text not in _ACTIVE})
    return tuple(name for name, text in reasons if _ACTIVE.get(text)) if reasons else None


def _slowed_us(fields: Fields) -> tuple[tuple[str, int], ...]:
    counters = []
    for tag, _ in fields.told(_COUNTERS):
        spent_us = fields.amount(f"{_COUNTERS}/{tag}", "us")
        name = tag.removeprefix(f"{_COUNTERS}_")
        counters += [] if spent_us is None else [(_COUNTED.get(name, name), spent_us)]
    return tuple(counters)


def _room_c(fields: Fields, limit: str) -> int | None:
    """Degrees up to the limit of that name, by whichever of the two forms the driver has."""
    left_c = fields.amount("temperature/gpu_temp_tlimit", "C")
    at_c = fields.amount(f"temperature/gpu_temp_{limit}_tlimit_threshold", "C")
    if left_c is not None and at_c is not None:
        return left_c - at_c
    now_c = fields.amount("temperature/gpu_temp", "C")
    limit_c = fields.amount(f"temperature/gpu_temp_{limit}_threshold", "C")
    return None if now_c is None or limit_c is None else limit_c - now_c


def _either(flags: Iterable[bool | None]) -> bool | None:
    told = [flag for flag in flags if flag is not None]
    return any(told) if told else None
