"""What nvidia-smi sees from where it runs: the GPUs whose device files are here, and who uses them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fleetops.lab.driver import HOST, Driver, Gpu, GpuState, Holding, current_guest

GUESTS = Path("/run/lab/guests")


@dataclass(frozen=True)
class Client:
    """A process that has memory on a GPU; its pid is that of the namespace this runs in."""

    pid: int
    name: str
    used_mib: int


@dataclass(frozen=True)
class View:
    """One GPU with its state and its use."""

    index: int
    gpu: Gpu
    state: GpuState
    used_mib: int
    clients: tuple[Client, ...]

    @property
    def free_mib(self) -> int:
        """What could still be taken."""
        return self.gpu.total_mib - self.gpu.reserved_mib - self.used_mib


def views(driver: Driver) -> list[View]:
    """The GPUs that can be seen here, by PCI address. Raises FileNotFoundError where no driver is loaded."""
    here = sorted((gpu for gpu in driver.gpus() if _device(gpu).exists()), key=lambda gpu: gpu.bdf)
    holdings = driver.ledger.holdings()
    pids = {id(each): _pid_here(each) for each in holdings}
    return [
        View(
            index=index,
            gpu=gpu,
            state=driver.state(gpu.minor),
            used_mib=gpu.idle_mib + sum(each.gpu_mib.get(gpu.minor, 0) for each in holdings),
            clients=tuple(
                Client(pid, each.comm, each.gpu_mib[gpu.minor])
                for each in holdings
                if each.gpu_mib.get(gpu.minor) and (pid := pids[id(each)])
            ),
        )
        for index, gpu in enumerate(here)
    ]


def users(gpu: Gpu) -> list[int]:
    """Processes that have the GPU's device file open, zombie leaders by their living threads included."""
    wanted = _device(gpu).stat()
    found = set()
    for descriptor in _descriptors():
        try:
            opened = descriptor.stat()
        except OSError:
            continue
        if (opened.st_dev, opened.st_ino) == (wanted.st_dev, wanted.st_ino):
            found.add(int(descriptor.parts[2]))
    return sorted(found)


def stopped_guests() -> list[str]:
    """The containers of this host that do not run now."""
    return [folder.name for folder in GUESTS.glob("*") if not (folder / "init.pid").exists()]


def in_container() -> bool:
    """Whether the driver belongs to the host outside: then no process is told and nothing may be changed."""
    return current_guest() != HOST


def _device(gpu: Gpu) -> Path:
    return Path(f"/dev/nvidia{gpu.minor}")


def _descriptors() -> Iterator[Path]:
    for process in Path("/proc").glob("[0-9]*"):
        for task in _entries(process / "task"):
            folder = _entries(task / "fd")
            yield from folder
            if folder:  # threads share their files: one that has any tells for all
                break


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _pid_here(holding: Holding) -> int | None:
    """The owner's pid as this namespace counts; None for the dead, and in a container, which is told none."""
    if in_container() or not holding.alive:
        return None
    if holding.guest == HOST:
        return holding.pid
    init = GUESTS / holding.guest / "init.pid"
    if not init.exists():
        return None
    namespace = _namespace(init.read_text())
    for process in Path("/proc").glob("[0-9]*"):
        if _namespace(process.name) == namespace and _innermost_pid(process) == holding.pid:
            return int(process.name)
    return None


def _namespace(pid: str) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    except OSError:
        return ""


def _innermost_pid(process: Path) -> int:
    try:
        status = (process / "status").read_text()
    except OSError:
        return 0
    return next(int(line.split()[-1]) for line in status.splitlines() if line.startswith("NSpid:"))
