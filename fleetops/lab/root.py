"""A host's private file system: what is mounted where, and the change into it. Standard library only."""

import os
from pathlib import Path

from fleetops.lab import linux
from fleetops.lab.driver import VERSION, Driver, Gpu
from fleetops.lab.spec import PACKAGE, RUN, SHARE, HostSpec

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
LINKS = {
    "ptmx": "pts/ptmx",
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
}
DRIVER_DEVICES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")
ENGINE_SOURCE = "root/sglang/python"
VLLM_SOURCE = "root/vllm"
MODELS = "models"
PRISTINE_PROC = "run/lab/proc"
CPUS = Path("/sys/devices/system/cpu")


def enter_root(spec: HostSpec) -> None:
    """Build the host's file system from its spec and make it the caller's. Nothing of the machine's own remains."""
    root = Path(spec.disk)
    linux.stop_mount_propagation()
    linux.bind(root, root)
    _show_system(root, spec)
    _mount_memory(root, spec)
    _make_devices(root, spec)
    _mount_kernel(root, spec)
    linux.change_root(root)


def _show_system(root: Path, spec: HostSpec) -> None:
    """The machine's programs, this package and what is shared, all read-only and at their own places."""
    linux.bind("/usr", _folder(root / "usr"), read_only=True)
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        if Path("/", name).is_dir() and not Path("/", name).is_symlink():
            linux.bind(Path("/", name), _folder(root / name), read_only=True)
    if Path("/etc/alternatives").is_dir():
        linux.bind("/etc/alternatives", _folder(root / "etc/alternatives"), read_only=True)
    for name in ("ld.so.cache", "localtime"):
        # Copies: packages that are installed meanwhile replace the file, and what was mounted of it cannot be mounted on.
        if (source := Path("/etc", name)).exists():
            _file(root / "etc" / name).write_bytes(source.read_bytes())
    if spec.python_prefix:
        linux.bind(spec.python_prefix, _folder(_below(root, spec.python_prefix)), read_only=True)
    linux.bind(spec.package, _folder(_below(root, PACKAGE)), read_only=True)
    linux.bind(spec.share, _folder(_below(root, SHARE)), read_only=True)
    for number, disk in spec.guests.items():
        linux.bind(disk, _folder(root / "var/lib/lxc" / number / "rootfs"))
    for shared, shown in (("engine/sglang", ENGINE_SOURCE), ("engine/vllm", VLLM_SOURCE), ("models", MODELS)):
        if (root / shown).exists():
            linux.bind(Path(spec.share, shared), root / shown, read_only=True)


def _mount_memory(root: Path, spec: HostSpec) -> None:
    """What a restart loses: /run and /tmp; below /run the host's own /run/lab and the driver that it uses."""
    linux.mount_tmpfs(_folder(root / "run"))
    _folder(root / "run/lock/lxc")
    linux.bind(spec.run, _folder(_below(root, RUN)))
    for number, folder in spec.vms.items():
        linux.bind(folder, _folder(_below(root, RUN) / "vms" / number))
    if spec.driver:
        linux.bind(spec.driver, _folder(_below(root, RUN) / "driver"))
    linux.mount_tmpfs(_folder(root / "tmp"), mode="1777")


def _make_devices(root: Path, spec: HostSpec) -> None:
    devices = _folder(root / "dev")
    linux.mount_tmpfs(devices)
    for name in DEVICES:
        linux.bind(Path("/dev", name), _file(devices / name))
    linux.mount_tmpfs(_folder(devices / "shm"), mode="1777", size=str(spec.total_bytes // 2))
    linux.mount_devpts(_folder(devices / "pts"))
    for name, meaning in LINKS.items():
        (devices / name).symlink_to(meaning)
    if not spec.devices:
        return
    for name in (*DRIVER_DEVICES, *(f"nvidia{minor}" for minor in spec.devices)):
        target = _file(devices / name)
        if spec.is_container:
            linux.bind(Path("/dev", name), target)


def _mount_kernel(root: Path, spec: HostSpec) -> None:
    """/proc and /sys, with the lab's own memory figures, cgroup and driver in them.

    The kernel lets a container mount a /proc only where its parent has one that nothing covers, so a hypervisor
    keeps a second one.
    """
    proc = _folder(root / "proc")
    linux.mount_proc(proc)
    if spec.kind == "hypervisor":
        linux.mount_proc(_folder(root / PRISTINE_PROC))
    kernel = _below(root, RUN) / "kernel"
    linux.bind(kernel / "meminfo", proc / "meminfo")
    linux.bind(kernel / "boot_id", proc / "sys/kernel/random/boot_id")
    linux.mount_tmpfs(proc / "driver")
    driver = _below(root, RUN) / "driver"
    if (driver / "gpus.json").exists():
        _write_driver(proc / "driver/nvidia", Driver(driver).gpus())
    linux.bind(kernel / "cgroup", _folder(root / "sys/fs/cgroup"))
    # Nothing simulates the CPUs: a real engine that asks lscpu sees the machine's own.
    if CPUS.is_dir():
        linux.bind(CPUS, _folder(_below(root, CPUS)), read_only=True)


def _write_driver(folder: Path, gpus: list[Gpu]) -> None:
    """/proc/driver/nvidia, in the driver's form (NVIDIA's README, chapter on the /proc interface)."""
    if not gpus:
        return
    _folder(folder)
    (folder / "version").write_text(
        f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {VERSION}  Sun Mar 23 01:35:34 UTC 2025\n"
        "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n"
    )
    for gpu in gpus:
        address = gpu.bdf[4:].lower()
        about = _folder(folder / "gpus" / address)
        (about / "information").write_text(
            f"Model: \t\t {gpu.name}\nIRQ:   \t\t {40 + gpu.minor}\nGPU UUID: \t {gpu.uuid}\n"
            f"Video BIOS: \t 96.00.a5.00.01\nBus Type: \t PCIe\nDMA Size: \t 52 bits\n"
            f"DMA Mask: \t 0xfffffffffffff\nBus Location: \t {address}\nDevice Minor: \t {gpu.minor}\n"
            f"GPU Firmware: \t {VERSION}\nGPU Excluded:\t No\n"
        )


def _below(root: Path, path: Path | str) -> Path:
    return root / Path(path).relative_to("/")


def _folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


def _file(path: Path) -> Path:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o666))
    return path
