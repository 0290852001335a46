"""Nodes as a sweep sees their GPUs: with a clock, a kernel's log, a PCI bus, a past and the shipped thresholds."""

from dataclasses import replace
from typing import Any

from node_scenes import NODE, gpu, observe

from fleetops.inventory.thresholds import thresholds_for
from fleetops.model.fact import Facts, Key
from fleetops.model.finding import Observation
from fleetops.model.fleet import Guest, Node
from fleetops.model.gpu import GPU_PCI, GPUS, NVLINKS, Gpu, GpuHealth, Gpus, NvLinks, PciGpu
from fleetops.model.guest import GUEST, GuestState
from fleetops.model.kernel import KERNEL_LOG, KernelLine, KernelLog
from fleetops.model.past import Past, Sample

NOW = 1_764_450_000.0
BARE = replace(NODE, hypervisor="", guest=None)
IN_VM = replace(NODE, guest=Guest(kind="vm", id=174))
WELL = GpuHealth(
    remap_pending=False, remap_failure=False, rows_corrected=0, rows_uncorrected=0, slowed_by=("gpu_idle",),
    temperature_c=28, to_slowdown_c=61, to_shutdown_c=66, memory_c=32, memory_limit_c=95, pcie_width=16,
    pcie_width_max=16, pcie_gen=1, pcie_gen_max=5, compute_mode="Default", fabric_status="Success",
)  # fmt: skip


def healthy(index: int = 0, *, health: dict[str, Any] | None = None, **fields: Any) -> Gpu:
    """One GPU of eight; `health` replaces single fields of its health."""
    settled = {
        "persistence": True,
        "mig": False,
        "fabric": "Completed",
        "ecc_uncorrected_aggregate": 0,
        **fields,
    }
    return gpu(index, health=replace(WELL, **(health or {})), **settled)


def eight(*others: Gpu, count: int = 8) -> Gpus:
    """Eight healthy GPUs, but for those that are given."""
    given = {one.index: one for one in others}
    return Gpus(driver_version="570.133.20", gpus=tuple(given.get(at, healthy(at)) for at in range(count)))


def bus(count: int = 8, *others: PciGpu) -> tuple[PciGpu, ...]:
    """The bus with those GPUs; `others` replace or are added, by address."""
    all_of_it = {
        one.bdf: PciGpu(bdf=one.bdf, device="2335", driver="nvidia", width=16, width_max=16)
        for one in eight(count=count).gpus
    } | {one.bdf: one for one in others}
    return tuple(all_of_it[bdf] for bdf in sorted(all_of_it))


def links(count: int = 8, **up: int) -> tuple[NvLinks, ...]:
    """Eighteen links on each of eight GPUs; `gpu_4=0` has another number of them up."""
    return tuple(
        NvLinks(uuid=f"GPU-{at}", index=at, rates=(26.562,) * up.get(f"gpu_{at}", 18)) for at in range(count)
    )


def log(*lines: tuple[float, str], **fields: Any) -> KernelLog:
    """A log of the whole boot; `lines` are seconds ago and text, oldest first."""
    began = NOW - 3.5e6
    settled = {"source": "journal", "begins_at": began, "booted_at": began, "boot_id": "b", **fields}
    return KernelLog(lines=tuple(KernelLine(at=NOW - ago, text=text) for ago, text in lines), **settled)


def past(words: dict[str, str] | None = None, **series: list[tuple[float, float]]) -> Past:
    """`series`: name -> seconds ago and value, oldest first; underscores in a name stand for hyphens."""
    return Past(
        swept_at=NOW - 300, every_s=300.0, words=words or {},
        series={
            name.replace("_", "-"): tuple(Sample(at=NOW - ago, value=value) for ago, value in samples)
            for name, samples in series.items()
        },
    )  # fmt: skip


def swept(
    *gpus: Gpu,
    node: Node = NODE,
    profile: Any = None,
    past: Past = Past(),  # noqa: B008 - frozen
    on_node: dict[Key[Any], Any] | None = None,
    on_host: dict[Key[Any], Any] | None = None,
) -> Observation:
    """A node of eight GPUs at NOW. A container's kernel and bus are its host's, which has ten GPUs."""
    reported = eight(*gpus)
    readings = {GPUS: reported, GPU_PCI: bus(), KERNEL_LOG: log(), NVLINKS: links(), **(on_node or {})}
    host = {GPUS: eight(*gpus, count=10), GPU_PCI: bus(10), KERNEL_LOG: log(), **(on_host or {})}
    if node.guest and node.guest.kind == "vm":
        passed = tuple(replace(one, driver="vfio-pci") for one in bus(8))
        config = {f"hostpci{at}": f"{one.bdf},pcie=1" for at, one in enumerate(passed)}
        host = {
            GPU_PCI: passed, KERNEL_LOG: log(),
            GUEST: GuestState(kind="vm", id=174, status="running", config=config), **(on_host or {}),
        }  # fmt: skip
    seen = observe(node=node, profile=profile, facts=readings, on_hypervisor=host)
    on = Facts("node-174", NOW, seen.node_facts.readings)
    beside = Facts("pve-01", NOW, seen.hypervisor_facts.readings) if seen.hypervisor_facts else None
    return replace(
        seen, node_facts=on, hypervisor_facts=beside if node.hypervisor else None, past=past,
        thresholds=thresholds_for("NVIDIA H200"),
    )  # fmt: skip
