"""The lab's fleet: which hosts there are and how big they are. Standard library only.

The sizes are the incident's: node-174 has 449 GB and 8 GPUs, and 445 GB are available when it is idle.
"""

import hashlib
from dataclasses import dataclass
from typing import Literal

from fleetops.lab.driver import Gpu

Kind = Literal["hypervisor", "lxc", "vm", "bare"]

GB = 10**9
GPU_NAME = "NVIDIA H20"
GPU_TOTAL_MIB = 97871
GPU_RESERVED_MIB = 1577  # what is left, 96294 MiB, is what CUDA calls the GPU's total


@dataclass(frozen=True, kw_only=True)
class LabHost:
    """One host of the lab.

    Attributes:
        hypervisor, guest_id: where it is a guest.
        minors: its GPUs; of a container: those of its hypervisor's.
        total_bytes: MemTotal.
        idle_bytes: MemAvailable while nothing runs.
        engine: whether SGLang's source lies on it; vllm: whether vLLM's does, too.
    """

    name: str
    kind: Kind
    total_bytes: int
    idle_bytes: int
    minors: tuple[int, ...] = ()
    hypervisor: str = ""
    guest_id: int | None = None
    engine: bool = False
    vllm: bool = False
    profile: str = ""
    rack: str = ""
    address: str = "127.0.0.1"

    @property
    def machine_id(self) -> str:
        """32 hexadecimal digits, the same in every lab."""
        return hashlib.md5(f"fleetops-lab {self.name}".encode(), usedforsecurity=False).hexdigest()


FLEET: tuple[LabHost, ...] = (
    LabHost(
        name="pve-01",
        kind="hypervisor",
        total_bytes=540 * GB,
        idle_bytes=528 * GB,
        minors=tuple(range(10)),
        rack="a",
    ),
    LabHost(
        name="pve-02",
        kind="hypervisor",
        total_bytes=270 * GB,
        idle_bytes=130 * GB,
        rack="b",
    ),
    LabHost(
        name="node-174",
        kind="lxc",
        total_bytes=449 * GB,
        idle_bytes=445 * GB,
        minors=tuple(range(8)),
        hypervisor="pve-01",
        guest_id=174,
        engine=True,
        profile="hicache48",
        rack="a",
    ),
    LabHost(
        name="node-175",
        kind="lxc",
        total_bytes=64 * GB,
        idle_bytes=62 * GB,
        minors=(8, 9),
        hypervisor="pve-01",
        guest_id=175,
        engine=True,
        profile="small",
        rack="a",
    ),
    LabHost(
        name="node-181",
        kind="vm",
        total_bytes=128 * GB,
        idle_bytes=126 * GB,
        minors=(0, 1),
        hypervisor="pve-02",
        guest_id=181,
        engine=True,
        profile="small",
        rack="b",
    ),
    LabHost(
        name="node-190",
        kind="bare",
        total_bytes=256 * GB,
        idle_bytes=252 * GB,
        minors=(0, 1),
        engine=True,
        vllm=True,
        profile="small",
        rack="b",
    ),
)


def lab_host(name: str) -> LabHost:
    """The lab's host of that name. Raises KeyError."""
    return {host.name: host for host in FLEET}[name]


def guests_of(hypervisor: str) -> list[LabHost]:
    """The guests of a hypervisor, containers and VMs."""
    return [host for host in FLEET if host.hypervisor == hypervisor]


def gpus_of(host: LabHost) -> list[Gpu]:
    """The GPUs of the driver that runs on a host; containers have none of their own."""
    if host.kind == "lxc":
        return []
    return [_gpu(host.name, minor) for minor in host.minors]


def _gpu(host: str, minor: int) -> Gpu:
    digest = hashlib.md5(f"fleetops-lab {host} gpu {minor}".encode(), usedforsecurity=False).hexdigest()
    parts = (digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:])
    return Gpu(
        minor=minor,
        uuid="GPU-" + "-".join(parts),
        bdf=f"00000000:{_BUSES[minor]:02X}:00.0",
        name=GPU_NAME,
        total_mib=GPU_TOTAL_MIB,
        reserved_mib=GPU_RESERVED_MIB,
        idle_mib=0 if minor % 2 else 4,
    )


_BUSES = (0x0F, 0x1A, 0x2D, 0x3B, 0x5D, 0x7E, 0x9A, 0xAB, 0xBD, 0xDB)
