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
GUESTS = (NODE, NEIGHBOUR)
_SERVES = "    gpus: 2\n    engine: sglang\n    profile: deep\n"
GPUS = tuple(
    Gpu(
        minor=minor,
        uuid=f"GPU-5e0c1a2b-0000-4000-8000-{minor:012d}",
        bdf=f"00000000:{bus}:00.0",
        name="NVIDIA H100 NVL",
        total_mib=95830,
        reserved_mib=610,
        idle_mib=0,
    )
    for minor, bus in enumerate(("1A", "1B"))
)
HELD_MIB = 90_000

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
        f"    hypervisor: {HOST_NAME}\n    guest: {{kind: lxc, id: {each}}}\n{_SERVES if each == NODE else ''}"
        for each in GUESTS
    )
    (inventory / "fleet.yaml").write_text(
        f"settings:\n  ssh-config: {keys / 'config'}\n  known-hosts: {keys / 'known_hosts'}\n  state: {folder / 'state'}\n"
        f"hypervisors:\n  {HOST_NAME}: {{address: 10.99.0.1, user: root, machine-id: {machine_id(HOST_NAME)}}}\n"
        f"nodes:\n{guests}"
    )
    (inventory / "profiles.yaml").write_text(
        "profiles:\n  deep:\n    engine: sglang\n    model: /models/small\n    ranks: 2\n    port: 30000\n"
        "    flags: {mem-fraction-static: 0.88}\n    host-memory: {reserve: 40 MB, floor: 16 MB}\n"
    )


def write_host(folder: Path) -> None:
    """What lies over the host's root: its tools, its guests' configurations, the driver's two reports."""
    root, scripts = folder / HOST_NAME, HERE / "host"
    _common(root, folder / "keys", HOST_NAME)
    _install(root / "usr/bin/pct", scripts / "pct.sh")
    _install(root / "usr/bin/pvesh", scripts / "pvesh.sh")
    _install(root / "usr/bin/nvidia-smi", scripts / "nvidia-smi.sh")
    _install(root / "etc/deep/fresh", scripts / "fresh.sh")
    shutil.copy(scripts / "common.conf", root / "etc/deep/common.conf")
    guests = root / "etc/pve/lxc"
    guests.mkdir(parents=True)
    for each in GUESTS:
        device = "dev0: /dev/nvidia0\ndev1: /dev/nvidia1\n" if each == NODE else ""
        (guests / f"{each}.conf").write_text(
            f"arch: amd64\ncores: 2\n{device}hostname: node-{each}\nmemory: 512\nostype: debian\n"
        )
    shared = root / "run/deep"
    shared.mkdir(parents=True)
    for name, used in (("idle", 0), ("held", HELD_MIB)):
        views = [View(index=gpu.minor, gpu=gpu, state=GpuState(), used_mib=used, clients=()) for gpu in GPUS]
        (shared / f"{name}.xml").write_text(report(views, len(views)))


def write_node(folder: Path, guest_id: int) -> None:
    """What lies over a node's root."""
    root = folder / f"node-{guest_id}"
    _common(root, folder / "keys", f"node-{guest_id}")
    _install(root / "usr/sbin/deep-init", HERE / "node/init.sh")
    _install(root / "usr/bin/nvidia-smi", HERE / "host/nvidia-smi.sh")
    for name in ("launch_server", "fuse_silent", "stranger"):
        _install(root / f"opt/sglang/{name}.py", HERE / f"node/{name}.py")


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
