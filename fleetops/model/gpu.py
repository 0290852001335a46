"""GPUs as the NVIDIA driver reports them."""

from dataclasses import dataclass

from fleetops.model.fact import Key


@dataclass(frozen=True, kw_only=True)
class GpuProcess:
    """A process the driver reports on a GPU; its pid belongs to the pid namespace it was read in, or is None."""

    pid: int | None
    name: str
    used_bytes: int | None


@dataclass(frozen=True, kw_only=True)
class GpuHealth:
    """What the same report tells of a GPU's health. What a driver does not know of a GPU is None, or "".

    Attributes:
        remap_pending: a row of its memory is to be replaced at the next reset; remap_failure: a row could not be.
        rows_corrected, rows_uncorrected: rows replaced after errors of that kind, since it was made.
        repair_pending: a memory channel or a TPC is to be repaired at the next reset (since about driver 580).
        sram_threshold_exceeded: its SRAM has had more uncorrectable errors than NVIDIA lets it have.
        pages_pending: GPUs before Ampere: a page is to be retired at the next reset; pages_single_bit,
            pages_double_bit: pages retired after errors of that kind.
        slowed_by: the reasons for a lower clock that are active (`gpu_idle`, `sw_power_cap`, `hw_slowdown`, ...).
        slowed_us: reason -> for how long it was active, in microseconds that only grow until the driver is loaded or the
            GPU reset (`hw_thermal_slowdown`, `hw_power_brake_slowdown`, ...).
        temperature_c: of the GPU. to_slowdown_c: by how much it may still warm up before it slows itself down, and
            to_shutdown_c before it switches itself off; at 0 and below it does. Both by the limits that it states.
        memory_c, memory_limit_c: temperature of its memory, and up to which one it may work.
        pcie_width, pcie_gen: lanes and generation of its link now, `_max` at best; an idle GPU lowers the generation.
        compute_mode: Default, Exclusive_Process, Prohibited.
        fabric_status, fabric_health: beside the state of the NVSwitch fabric (`Success`; `Healthy`).
        unread: what was told and not understood, as path and text.
    """

    remap_pending: bool | None = None
    remap_failure: bool | None = None
    rows_corrected: int | None = None
    rows_uncorrected: int | None = None
    repair_pending: bool | None = None
    sram_threshold_exceeded: bool | None = None
    pages_pending: bool | None = None
    pages_single_bit: int | None = None
    pages_double_bit: int | None = None
    slowed_by: tuple[str, ...] | None = None
    slowed_us: tuple[tuple[str, int], ...] = ()
    temperature_c: int | None = None
    to_slowdown_c: int | None = None
    to_shutdown_c: int | None = None
    memory_c: int | None = None
    memory_limit_c: int | None = None
    pcie_width: int | None = None
    pcie_width_max: int | None = None
    pcie_gen: int | None = None
    pcie_gen_max: int | None = None
    compute_mode: str = ""
    fabric_status: str = ""
    fabric_health: str = ""
    unread: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU. A field that the driver does not know is None (and named in `unknown`); one it could not read fails.

    Attributes:
        uuid, bdf: identity; `bdf` is lower case with a four-digit domain (`0000:1a:00.0`).
        minor: the number in /dev/nvidiaN.
        architecture: the generation by NVIDIA's name (`Ampere`, `Ada Lovelace`); "" where the driver does not tell.
        fabric: state of the NVSwitch fabric as the driver tells it (`Completed`, `In Progress`); "" where there is none.
        recovery_action: the driver's own verdict: None, Reset, Reboot, Drain P2P, Drain and Reset; "" where not told.
        failing: fields that hold a failure text (`Unknown Error`, `GPU requires reset`), with the text.
    """

    uuid: str
    bdf: str
    index: int
    name: str
    minor: int | None
    memory_total_bytes: int
    memory_used_bytes: int
    memory_reserved_bytes: int = 0
    persistence: bool | None = None
    mig: bool | None = None
    ecc: bool | None = None
    ecc_uncorrected_aggregate: int | None = None
    display_active: bool | None = None
    recovery_action: str = ""
    architecture: str = ""
    fabric: str = ""
    health: GpuHealth = GpuHealth()
    processes: tuple[GpuProcess, ...] = ()
    failing: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, kw_only=True)
class LostGpu:
    """A GPU of which the driver has no handle any more, or that it calls lost: its address and the driver's words."""

    bdf: str
    said: str


@dataclass(frozen=True, kw_only=True)
class NvLinks:
    """The NVLinks of one GPU. `rates`: of each link in GB/s, 0 for one that is down; none at all where all are down."""

    uuid: str
    index: int
    rates: tuple[float, ...] = ()

    @property
    def up(self) -> int:
        """How many are up."""
        return sum(1 for rate in self.rates if rate > 0)


@dataclass(frozen=True, kw_only=True)
class PciGpu:
    """A GPU on the PCI bus.

    Attributes:
        device: NVIDIA's number for the model, as four hexadecimal digits.
        driver: which one has it (`nvidia`, `vfio-pci`), "" for none.
        width, width_max: lanes of its link; None where the bus does not tell, as of one that fell off it.
    """

    bdf: str
    device: str = ""
    driver: str = ""
    width: int | None = None
    width_max: int | None = None


@dataclass(frozen=True, kw_only=True)
class Gpus:
    """All GPUs that one nvidia-smi call reported, and what it said went wrong beside them.

    Attributes:
        problems: every line beside the report, and what makes the report less than whole.
        lost: the GPUs that the driver cannot reach; each costs only itself.
        listed: how many GPUs are only named, because nvidia-smi stopped at a lost one: nothing else is known of them.
    """

    driver_version: str
    gpus: tuple[Gpu, ...]
    problems: tuple[str, ...] = ()
    lost: tuple[LostGpu, ...] = ()
    listed: int = 0

    @property
    def tells_memory(self) -> bool:
        """Whether what every reported GPU holds could be read; of no GPU nothing could."""
        return bool(self.gpus) and not any("memory" in field for gpu in self.gpus for field, _ in gpu.failing)

    @property
    def model(self) -> str:
        """What its GPUs are called, each name once."""
        return ", ".join(dict.fromkeys(gpu.name for gpu in self.gpus))


DRIVER_UNRESPONSIVE = "driver-unresponsive"
DRIVER_MISMATCH = "driver-mismatch"
"""Reasons of a gap where the GPUs should be: nvidia-smi hangs in the driver; libraries and module differ."""


GPUS: Key[Gpus] = Key("gpus")
GPU_PCI: Key[tuple[PciGpu, ...]] = Key("gpu-pci")
NVLINKS: Key[tuple[NvLinks, ...]] = Key("nvlinks")
