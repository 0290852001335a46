"""Lay out a host's own file system and run folder before it first starts."""

import os
import sys
import uuid
from pathlib import Path

from fleetops.lab.driver import create
from fleetops.lab.fleet import LabHost, gpus_of, guests_of
from fleetops.lab.kernel import MemoryUse, cgroup, meminfo
from fleetops.lab.paths import Layout
from fleetops.lab.pci import passed_address, write_bus
from fleetops.lab.root import ENGINE_SOURCE, MODELS, VLLM_SOURCE
from fleetops.lab.spec import LIBRARY, PACKAGE, RUN, SHARE, TOOLS, HostSpec, write_spec
from fleetops.lab.tools import df

TOOLS_EVERYWHERE = {"dmesg": "dmesg"}
NODE_TOOLS = {"nvidia-smi": "nvidia_smi"}
HYPERVISOR_TOOLS = {
    "pct": "pct",
    "qm": "qm",
    "pvesh": "pvesh",
    "lxc-info": "lxc_info",
    "pveversion": "pveversion",
}
DRIVER_TOOLS = {"nvidia-persistenced": "nvidia_persistenced"}
_FOLDERS = (
    "usr",
    "etc",
    "root",
    "proc",
    "sys",
    "dev",
    "run",
    "tmp",
    "var/cache",
    "var/log",
    "var/lib",
    "opt",
    "srv",
)
_PROGRAM = f"""#!{{python}} -IS
import sys
sys.path.insert(0, "{LIBRARY}")
from fleetops.lab.tools.ask import asked
status = asked("{{name}}")
if status is None:
    from fleetops.lab.tools.{{module}} import main
    status = main(sys.argv[1:])
sys.exit(status)
"""
# What pip installs beside the engine's package.
_ENGINE_SCRIPT = """#!/usr/bin/env python3
import sys
from {module} import main
sys.exit(main())
"""
# What the neighbour runs, as its profile `small` would: no incident and no recovery next door may disturb it.
_SERVICE = (
    "cd /root; exec python3 -m sglang.launch_server --model-path /models/small --tp 2 --port 30000 "
    "--mem-fraction-static 0.88 --enable-metrics > /root/sglang.log 2>&1"
)
_BYSTANDER = """import pathlib, time

# Somebody else's job on this machine: counts in its own file, holds no GPU, and must survive any recovery.
count = 0
while True:
    count += 1
    pathlib.Path("/root/bystander.count").write_text(f"{count}\\n")
    time.sleep(0.5)
"""


def python_program() -> str:
    """The interpreter itself, behind any virtual environment's link to it."""
    return os.path.realpath(sys.executable)


def python_prefix() -> str:
    """The folder that the interpreter needs beside itself; "" where /usr, which every host sees, holds it."""
    prefix = os.path.realpath(sys.base_prefix)
    return "" if Path(prefix).is_relative_to("/usr") else prefix


def lay_out(layout: Layout, host: LabHost, boot_id: str) -> None:
    """Write a host's disk, run folder and spec. Its hypervisor comes before it."""
    disk = layout.disk(host.name)
    _write_system(disk, host)
    write_bus(disk, host)
    run = layout.run(host.name, host.hypervisor if host.kind == "lxc" else "", host.guest_id)
    _write_run(run, host, boot_id)
    write_spec(_spec(layout, host, boot_id), run)
    _write_tools(disk, host)
    if host.kind == "hypervisor":
        _write_proxmox(disk, host)


def _write_system(disk: Path, host: LabHost) -> None:
    for name in _FOLDERS:
        (disk / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        if Path("/", name).is_symlink():
            (disk / name).symlink_to(Path("/", name).readlink())
    if host.engine:
        (disk / ENGINE_SOURCE).mkdir(parents=True)
        (disk / MODELS).mkdir()
    if host.vllm:
        (disk / VLLM_SOURCE).mkdir(parents=True)
    if host.name == "node-174":
        (disk / "root/bystander.py").write_text(_BYSTANDER)
    for name, text in _system_files(host).items():
        (disk / "etc" / name).write_text(text)


def _system_files(host: LabHost) -> dict[str, str]:
    shell = "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"
    return {
        "hostname": f"{host.name}\n",
        "hosts": f"127.0.0.1 localhost\n127.0.1.1 {host.name}\n",
        "machine-id": f"{host.machine_id}\n",
        "passwd": f"root:x:0:0:root:/root:{shell}\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
        "group": "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
        "os-release": 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm), fleetops lab"\nID=debian\nVERSION_ID="12"\n',
    }


def _write_run(run: Path, host: LabHost, boot_id: str) -> None:
    use = MemoryUse(total=host.total_bytes, idle=host.idle_bytes)
    (run / "kernel/cgroup").mkdir(parents=True)
    (run / "kernel/meminfo").write_text(meminfo(use))
    (run / "kernel/boot_id").write_text(f"{boot_id}\n")
    for name, text in cgroup(use, limited=host.kind == "lxc").items():
        (run / "kernel/cgroup" / name).write_text(text)
    (run / "guest").write_text(f"{_ledger_name(host)}\n")
    if host.kind != "lxc":
        create(run / "driver", gpus_of(host))
    if host.kind == "hypervisor":
        (run / "guests").mkdir()
        (run / "vms").mkdir()
        (run / "tasks").mkdir()


def _ledger_name(host: LabHost) -> str:
    return str(host.guest_id) if host.kind == "lxc" else "host"


def _spec(layout: Layout, host: LabHost, boot_id: str) -> HostSpec:
    inside = host.kind == "lxc"  # started within the hypervisor, where the lab's folder does not exist
    return HostSpec(
        name=host.name,
        kind=host.kind,
        guest=_ledger_name(host),
        disk=str(Path("/var/lib/lxc", str(host.guest_id), "rootfs") if inside else layout.disk(host.name)),
        run=str(RUN / "guests" / str(host.guest_id) if inside else layout.run(host.name)),
        package=str(PACKAGE if inside else Path(__file__).parent),
        share=str(SHARE if inside else layout.share),
        driver=str(RUN / "driver") if inside else "",
        python=python_program(),
        python_prefix=python_prefix(),
        machine_id=host.machine_id,
        boot_id=boot_id,
        total_bytes=host.total_bytes,
        idle_bytes=host.idle_bytes,
        devices=host.minors,
        guests=_containers(layout, host),
        vms=_vms(layout, host),
        bystander=host.name == "node-174",
        service=_SERVICE if host.name == "node-175" else "",
    )


def _containers(layout: Layout, host: LabHost) -> dict[str, str]:
    containers = [guest for guest in guests_of(host.name) if guest.kind == "lxc"]
    return {str(guest.guest_id): str(layout.disk(guest.name)) for guest in containers}


def _vms(layout: Layout, host: LabHost) -> dict[str, str]:
    return {
        str(guest.guest_id): str(layout.run(guest.name))
        for guest in guests_of(host.name)
        if guest.kind == "vm"
    }


def _write_tools(disk: Path, host: LabHost) -> None:
    programs = disk / TOOLS.relative_to("/") / "bin"
    programs.mkdir(parents=True)
    (programs.parent / "site").symlink_to(PACKAGE / "engine" / "site")
    (programs / "python3").symlink_to(python_program())
    tools = TOOLS_EVERYWHERE | (NODE_TOOLS if host.minors else {})
    if host.minors and host.kind != "lxc":
        tools = tools | DRIVER_TOOLS
    if host.kind == "hypervisor":
        tools = tools | HYPERVISOR_TOOLS
    for name, module in tools.items():
        (programs / name).write_text(_PROGRAM.format(python=TOOLS / "bin/python3", name=name, module=module))
        (programs / name).chmod(0o755)
    (programs / "df").write_text(df.SCRIPT)
    (programs / "df").chmod(0o755)
    scripts = {"sglang": "sglang.cli.main"} if host.engine else {}
    scripts |= {"vllm": "vllm.entrypoints.cli.main"} if host.vllm else {}
    for name, module in scripts.items():
        (programs / name).write_text(_ENGINE_SCRIPT.format(module=module))
        (programs / name).chmod(0o755)


def _write_proxmox(disk: Path, host: LabHost) -> None:
    """/etc/pve as Proxmox lays it out: one file for each guest, links to the local node's."""
    local = disk / "etc/pve/nodes" / host.name
    (local / "lxc").mkdir(parents=True)
    (local / "qemu-server").mkdir()
    for link, target in (
        ("local", f"nodes/{host.name}"),
        ("lxc", "local/lxc"),
        ("qemu-server", "local/qemu-server"),
    ):
        (disk / "etc/pve" / link).symlink_to(target)
    for guest in guests_of(host.name):
        folder = "lxc" if guest.kind == "lxc" else "qemu-server"
        text = _lxc_config(guest) if guest.kind == "lxc" else _vm_config(guest)
        (local / folder / f"{guest.guest_id}.conf").write_text(text)


def _lxc_config(guest: LabHost) -> str:
    """The form of facts: recovery, part G; GPUs as devices of the container (Proxmox 8.2 and later)."""
    names = [*(f"nvidia{minor}" for minor in guest.minors), "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"]
    devices = "".join(f"dev{number}: /dev/{name}\n" for number, name in enumerate(names))
    return (
        f"arch: amd64\ncores: 64\n{devices}features: nesting=1\nhostname: {guest.name}\n"
        f"memory: {guest.total_bytes // 2**20}\n"
        f"net0: name=eth0,bridge=vmbr0,hwaddr={_hardware_address(guest)},ip=dhcp,type=veth\nonboot: 1\n"
        f"ostype: debian\nrootfs: local-zfs:subvol-{guest.guest_id}-disk-0,size=512G\nswap: 0\nunprivileged: 1\n"
    )


def _vm_config(guest: LabHost) -> str:
    gpus = "".join(f"hostpci{n}: {passed_address(n)},pcie=1\n" for n in range(len(guest.minors)))
    return (
        f"agent: 1\nballoon: 0\ncores: 64\ncpu: host\n{gpus}machine: q35\nmemory: {guest.total_bytes // 2**20}\n"
        f"name: {guest.name}\nnet0: virtio={_hardware_address(guest)},bridge=vmbr0\nonboot: 1\nostype: l26\n"
        f"scsi0: local-zfs:vm-{guest.guest_id}-disk-0,size=512G\n"
        f"smbios1: uuid={uuid.UUID(guest.machine_id)}\nsockets: 1\n"
    )


def _hardware_address(guest: LabHost) -> str:
    digits = guest.machine_id
    return "BC:24:11:" + ":".join(digits[n : n + 2].upper() for n in (0, 2, 4))
