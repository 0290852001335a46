"""What a host is made of, as a file beside it: the one who starts it reads this. Standard library only."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

SPEC = "spec.json"
INIT_PID = "init.pid"
READY = "ready"
BUTTON = "power-button"
AGENT = "qga.sock"
TOOLS = Path("/opt/fleetops-lab")
LIBRARY = TOOLS / "lib"
PACKAGE = LIBRARY / "fleetops" / "lab"
SHARE = TOOLS / "share"
RUN = Path("/run/lab")


@dataclass(frozen=True, kw_only=True)
class HostSpec:
    """One host, with paths as whoever starts it sees them.

    Attributes:
        kind: hypervisor, lxc, vm or bare.
        guest: the guest's id as text where it is a container, else `host`: the ledger's name for it.
        disk: its file system; run: what becomes its /run/lab; package: this Python package; share: see Layout.share.
        python, python_prefix: the interpreter, and the folder to show for it ("" where it is below /usr).
        driver: the folder of the driver that it uses, "" where that is its own (in `run`) or there is none.
        devices: GPU device files by minor.
        guests: a hypervisor's containers: id -> the container's disk.
        vms: a hypervisor's VMs: id -> the VM's run folder.
        bystander: whether to run a process that has nothing to do with any engine.
        service: a shell line that starts a service of the host's own when it boots, "" for none.
    """

    name: str
    kind: str
    guest: str
    disk: str
    run: str
    package: str
    share: str
    python: str
    python_prefix: str
    machine_id: str
    boot_id: str
    total_bytes: int
    idle_bytes: int
    devices: tuple[int, ...] = ()
    driver: str = ""
    guests: dict[str, str] = field(default_factory=dict)
    vms: dict[str, str] = field(default_factory=dict)
    bystander: bool = False
    service: str = ""

    @property
    def is_container(self) -> bool:
        """Started inside its hypervisor's namespaces, sharing that kernel and driver."""
        return self.kind == "lxc"


def write_spec(spec: HostSpec, folder: Path) -> None:
    """Keep a host's spec in its run folder, as whoever writes it sees that folder."""
    (folder / SPEC).write_text(json.dumps(asdict(spec), indent=1))


def read_spec(folder: Path) -> HostSpec:
    """The spec in a run folder. Raises FileNotFoundError."""
    fields = json.loads((folder / SPEC).read_text())
    return HostSpec(**{**fields, "devices": tuple(fields["devices"])})


def python_command(python: str, module: str, library: str) -> list[str]:
    """An argv that runs `main` of a module of this package, with the standard library and nothing else.

    Arguments follow as they are.
    """
    start = f"import sys; sys.path.insert(0, {library!r}); from {module} import main; sys.exit(main())"
    return [python, "-I", "-S", "-c", start]
