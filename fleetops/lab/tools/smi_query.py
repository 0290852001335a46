"""nvidia-smi's other ways to tell: `-L`, the csv queries, and the table that no option gives."""

import time
from collections.abc import Callable, Sequence

from fleetops.lab.driver import CUDA_VERSION, LANES, NVLINKS, VERSION
from fleetops.lab.tools.smi_view import View
from fleetops.lab.tools.smi_xml import power, temperature

Field = Callable[[View], str]

FIELDS: dict[str, Field] = {
    "index": lambda view: str(view.index),
    "name": lambda view: view.gpu.name,
    "uuid": lambda view: view.gpu.uuid,
    "pci.bus_id": lambda view: view.gpu.bdf,
    "driver_version": lambda _: VERSION,
    "persistence_mode": lambda view: "Enabled" if view.state.persistence else "Disabled",
    "mig.mode.current": lambda _: "Disabled",
    "mig.mode.pending": lambda _: "Disabled",
    "memory.total": lambda view: f"{view.gpu.total_mib} MiB",
    "memory.used": lambda view: f"{view.used_mib} MiB",
    "memory.free": lambda view: f"{view.free_mib} MiB",
    "memory.reserved": lambda view: f"{view.gpu.reserved_mib} MiB",
    "utilization.gpu": lambda _: "0 %",
    "utilization.memory": lambda _: "0 %",
    "temperature.gpu": lambda view: str(temperature(view)),
    "temperature.memory": lambda view: str(temperature(view)),
    "power.draw": lambda view: f"{power(view)}.00 W",
    "power.limit": lambda _: "500.00 W",
    "pcie.link.gen.current": lambda _: "5",
    "pcie.link.gen.max": lambda _: "5",
    "pcie.link.width.current": lambda view: str(view.state.lanes),
    "pcie.link.width.max": lambda _: str(LANES),
    "display_active": lambda _: "Disabled",
    "compute_mode": lambda _: "Default",
    "ecc.mode.current": lambda _: "Enabled",
    "ecc.errors.uncorrected.volatile.total": lambda _: "0",
    "ecc.errors.uncorrected.aggregate.total": lambda _: "0",
    "retired_pages.pending": lambda _: "[N/A]",
    "gpu_recovery_action": lambda view: view.state.recovery_action,
    "fabric.state": lambda _: "Completed",
}
UNITS = {
    "memory.total": "MiB",
    "memory.used": "MiB",
    "memory.free": "MiB",
    "memory.reserved": "MiB",
    "utilization.gpu": "%",
    "utilization.memory": "%",
    "power.draw": "W",
    "power.limit": "W",
}
ALIASES = {"gpu_name": "name", "gpu_uuid": "uuid", "gpu_bus_id": "pci.bus_id"}
APP_FIELDS = ("gpu_uuid", "pid", "process_name", "used_gpu_memory")


class UnknownField(ValueError):  # noqa: N818 - named for what the tool says
    """A field that this driver does not know."""


def listing(shown: Sequence[View]) -> str:
    """`-L`."""
    return "".join(f"GPU {view.index}: {view.gpu.name} (UUID: {view.gpu.uuid})\n" for view in shown)


def links(shown: Sequence[View]) -> str:
    """`nvlink -s`: the rate of each link, as on Hopper."""
    return "".join(
        f"GPU {view.index}: {view.gpu.name} (UUID: {view.gpu.uuid})\n"
        + "".join(
            f"\t Link {number}: {'26.562 GB/s' if number < view.state.nvlinks else '<inactive>'}\n"
            for number in range(NVLINKS)
        )
        for view in shown
    )


def gpu_table(shown: Sequence[View], fields: str, options: Sequence[str]) -> str:
    """`--query-gpu`. Raises UnknownField: one that is not known spoils the whole query."""
    names = [ALIASES.get(name.strip(), name.strip()) for name in fields.split(",")]
    for name in names:
        if name not in FIELDS:
            raise UnknownField(name)
    rows = [[FIELDS[name](view) for name in names] for view in shown]
    return _csv(names, [UNITS.get(name, "") for name in names], rows, options)


def app_table(shown: Sequence[View], fields: str, options: Sequence[str]) -> str:
    """`--query-compute-apps`. Raises UnknownField."""
    names = [
        "used_gpu_memory" if name.strip() == "used_memory" else name.strip() for name in fields.split(",")
    ]
    for name in names:
        if name not in APP_FIELDS:
            raise UnknownField(name)
    rows = []
    for view in shown:
        for client in view.clients:
            values = (view.gpu.uuid, str(client.pid), client.name, f"{client.used_mib} MiB")
            told = dict(zip(APP_FIELDS, values, strict=True))
            rows.append([told[name] for name in names])
    return _csv(names, ["MiB" if name == "used_gpu_memory" else "" for name in names], rows, options)


def _csv(
    names: Sequence[str], units: Sequence[str], rows: Sequence[Sequence[str]], options: Sequence[str]
) -> str:
    header = ", ".join(f"{name} [{unit}]" if unit else name for name, unit in zip(names, units, strict=True))
    bare = "nounits" in options
    lines = [] if "noheader" in options else [header]
    for row in rows:
        values = zip(row, units, strict=True)
        lines.append(
            ", ".join(value.removesuffix(f" {unit}") if bare and unit else value for value, unit in values)
        )
    return "".join(f"{line}\n" for line in lines)


def table(shown: Sequence[View]) -> str:
    """What nvidia-smi prints without options."""
    rule = f"+{'-' * 41}+{'-' * 24}+{'-' * 22}+\n"
    wide = f"+{'-' * 89}+\n"
    head = (
        f"{time.strftime('%a %b %e %H:%M:%S %Y')}\n{wide}"
        f"| NVIDIA-SMI {VERSION:<22} Driver Version: {VERSION:<16} CUDA Version: {CUDA_VERSION:<6} |\n{rule}"
        f"| {'GPU  Name':<26}Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
        f"| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n"
        f"|{'=' * 41}+{'=' * 24}+{'=' * 22}|\n"
    )
    return head + "".join(_rows(view) + rule for view in shown) + "\n" + _clients(shown)


def _rows(view: View) -> str:
    on = "On" if view.state.persistence else "Off"
    used = f"{view.used_mib}MiB / {view.gpu.total_mib:>6}MiB"
    watts = f"{power(view)}W /  500W"
    return (
        f"| {view.index:>3}  {view.gpu.name:<29}{on:>4}  | {view.gpu.bdf:>17} Off | {'0':>20} |\n"
        f"| N/A  {temperature(view):>3}C    P0 {watts:>23} | {used:>22} | {'0%':>8}      Default |\n"
    )


def _clients(shown: Sequence[View]) -> str:
    wide = f"+{'-' * 89}+\n"
    clients = [(view.index, client) for view in shown for client in view.clients]
    lines = [
        f"|{index:>5}   N/A  N/A {client.pid:>14}      C   {client.name[:34]:<36}{client.used_mib:>9}MiB |\n"
        for index, client in clients
    ] or [f"|  {'No running processes found':<86} |\n"]
    head = f"| {'Processes:':<87} |\n|{'  GPU   GI   CI              PID   Type   Process name':<69}{'GPU Memory':>19} |\n"
    return wide + head + f"|{'=' * 89}|\n" + "".join(lines) + wide
