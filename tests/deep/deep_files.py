"""What the deep lab's hosts are made of: keys, the inventory, and the files that lie above this machine's own."""

import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

from fleetops.lab.driver import Gpu, GpuState
from fleetops.lab.tools.smi_view import View
from fleetops.lab.tools.smi_xml import report

HERE = Path(__file__).parent
HOST_NAME = "pve-01"
NODE, NEIGHBOUR = 174, 175
SYSTEMD = 176
VM = 181
KINDS = {NODE: "lxc", NEIGHBOUR: "lxc", SYSTEMD: "lxc", VM: "vm"}
GUESTS = tuple(KINDS)
_SERVE = (NODE, SYSTEMD, VM)
_SERVES = "    gpus: 2\n    engine: sglang\n    profile: deep\n"
HELD_MIB = 90_000
# The VM's two, as its host has them; the guest counts them 06:10.0 and 06:11.0.
PASSED_THROUGH = ("0000:41:00.0", "0000:42:00.0")

# What a container has no hardware for, and a log that nobody reads.
_MASKED = (
    *("systemd-journald.socket", "systemd-journald-dev-log.socket", "systemd-journald-audit.socket"),
    *("systemd-journald.service", "systemd-journal-flush.service", "systemd-logind.service"),
    *("systemd-udevd.service", "systemd-udevd-control.socket", "systemd-udevd-kernel.socket"),
    *("dev-hugepages.mount", "dev-mqueue.mount", "sys-kernel-debug.mount"),
    *("systemd-networkd.service", "systemd-tmpfiles-setup.service", "systemd-sysusers.service"),
)

_SSHD = """\
HostKey /etc/ssh/deep_host_key
AuthorizedKeysFile /etc/ssh/deep_authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
Subsystem sftp internal-sftp
"""


def write_keys(folder: Path) -> None:
    """The operator's key, one host key for each host, and known_hosts with them."""
    keys = folder / "keys"
    keys.mkdir()
    known = []
    for name, address in {"operator": "", **addresses()}.items():
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(keys / name)],
            stdin=subprocess.DEVNULL,
            check=True,
        )
        if address:
            kind, key, _ = (keys / f"{name}.pub").read_text().split()
            known.append(f"{address} {kind} {key}\n")
    (keys / "known_hosts").write_text("".join(known))
    (keys / "config").write_text(f"Host *\n  IdentityFile {keys / 'operator'}\n  IdentitiesOnly yes\n")


def addresses() -> dict[str, str]:
    """Host name -> address."""
    return {HOST_NAME: "10.99.0.1", **{f"node-{each}": f"10.99.0.{each}" for each in GUESTS}}


def machine_id(name: str) -> str:
    """The same at each start, another for each host."""
    return sha256(f"deep lab {name}".encode()).hexdigest()[:32]


def write_inventory(folder: Path) -> None:
    """fleet.yaml and profiles.yaml, as an operator would have them."""
    inventory = folder / "inventory"
    inventory.mkdir()
    keys = folder / "keys"
    guests = "".join(
        f"  node-{each}:\n    address: 10.99.0.{each}\n    user: root\n    machine-id: {machine_id(f'node-{each}')}\n"
        f"    hypervisor: {HOST_NAME}\n    guest: {{kind: {kind}, id: {each}}}\n{_SERVES if each in _SERVE else ''}"
        for each, kind in KINDS.items()
    )
    (inventory / "fleet.yaml").write_text(
        f"settings:\n  ssh-config: {keys / 'config'}\n  known-hosts: {keys / 'known_hosts'}\n  state: {folder / 'state'}\n"
        f"hypervisors:\n  {HOST_NAME}: {{address: 10.99.0.1, user: root, machine-id: {machine_id(HOST_NAME)}}}\n"
        f"nodes:\n{guests}"
    )
    (inventory / "profiles.yaml").write_text(
        "profiles:\n  deep:\n    engine: sglang\n    model: /models/small\n    ranks: 2\n    port: 30000\n"
        "    flags: {mem-fraction-static: 0.88}\n    host-memory: {reserve: 40 MB, floor: 16 MB}\n    watch: 1s\n"
    )


def write_host(folder: Path) -> None:
    """What lies over the host's root: its tools, its guests' configurations, the drivers' reports."""
    root, scripts = folder / HOST_NAME, HERE / "host"
    _common(root, folder / "keys", HOST_NAME)
    for name in ("pct.sh", "pvesh.sh", "nvidia-smi.sh", "qm.py", "kvm.py"):
        _install(root / "usr/bin" / Path(name).stem, scripts / name)
    _install(root / "etc/deep/fresh", scripts / "fresh.sh")
    shutil.copy(scripts / "common.conf", root / "etc/deep/common.conf")
    containers, machines = root / "etc/pve/lxc", root / "etc/pve/qemu-server"
    containers.mkdir(parents=True)
    machines.mkdir()
    for each, kind in KINDS.items():
        if kind == "lxc":
            device = "dev0: /dev/nvidia0\ndev1: /dev/nvidia1\n" if each in _SERVE else ""
            (containers / f"{each}.conf").write_text(
                f"arch: amd64\ncores: 2\n{device}hostname: node-{each}\nmemory: 512\nostype: debian\n"
            )
        else:
            devices = "".join(f"hostpci{at}: {one},pcie=1\n" for at, one in enumerate(PASSED_THROUGH))
            (machines / f"{each}.conf").write_text(
                f"agent: 1\ncores: 2\ncpu: host\n{devices}memory: 512\nname: node-{each}\nostype: l26\n"
            )
    _write_driver(root / "run/deep", ("1A:00.0", "1B:00.0"), "8000")
    hardware = root / f"run/deep/{VM}"
    _write_driver(hardware, ("06:10.0", "06:11.0"), "8181")
    for minor in range(len(PASSED_THROUGH)):
        (hardware / f"nvidia{minor}").touch()


def _write_driver(folder: Path, places: tuple[str, ...], series: str) -> None:
    """What the driver of these GPUs tells, idle and with memory that nobody gives back."""
    folder.mkdir(parents=True)
    gpus = [
        Gpu(
            minor=minor,
            uuid=f"GPU-5e0c1a2b-0000-4000-{series}-{minor:012d}",
            bdf=f"00000000:{place}",
            name="NVIDIA H100 NVL",
            total_mib=95830,
            reserved_mib=610,
            idle_mib=0,
        )
        for minor, place in enumerate(places)
    ]
    for name, used in (("idle", 0), ("held", HELD_MIB)):
        views = [View(index=gpu.minor, gpu=gpu, state=GpuState(), used_mib=used, clients=()) for gpu in gpus]
        (folder / f"{name}.xml").write_text(report(views, len(views)))


def write_node(folder: Path, guest_id: int) -> None:
    """What lies over a node's root."""
    root = folder / f"node-{guest_id}"
    _common(root, folder / "keys", f"node-{guest_id}")
    _install(root / "usr/sbin/deep-init", HERE / "node/init.sh")
    _install(root / "usr/bin/nvidia-smi", HERE / "host/nvidia-smi.sh")
    for name in ("launch_server", "fuse_silent", "stranger"):
        _install(root / f"opt/sglang/{name}.py", HERE / f"node/{name}.py")
    model = root / "models/small"
    model.mkdir(parents=True)
    (model / "config.json").write_text("{}\n")
    if guest_id == SYSTEMD:
        _write_units(root)
    if KINDS[guest_id] == "vm":
        _install(root / "opt/deep/guest_agent.py", HERE / "node/guest_agent.py")


def _write_units(root: Path) -> None:
    """What systemd runs there as the first process, and the server as a package that a unit can start."""
    shutil.copytree(HERE / "node/units", root / "etc/systemd/system")
    for name in _MASKED:
        (root / "etc/systemd/system" / name).symlink_to("/dev/null")
    package = root / "usr/lib/python3/dist-packages/sglang"
    _install(package / "launch_server.py", HERE / "node/launch_server.py")
    (package / "__init__.py").touch()
    (package / "version.py").write_text('__version__ = "0.5.9"\n')


def _common(root: Path, keys: Path, name: str) -> None:
    ssh = root / "etc/ssh"
    ssh.mkdir(parents=True)
    (root / "etc/machine-id").write_text(f"{machine_id(name)}\n")
    (root / "etc/hostname").write_text(f"{name}\n")
    (ssh / "sshd_config").write_text(_SSHD)
    shutil.copy(keys / name, ssh / "deep_host_key")
    shutil.copy(keys / "operator.pub", ssh / "deep_authorized_keys")


def _install(path: Path, script: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(script, path)
    path.chmod(0o755)
