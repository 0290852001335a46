"""Nodes as their facts would tell of them: process tables and observations, built by hand from real shapes."""

from dataclasses import replace
from typing import Any

from fleetops.engines import engines
from fleetops.model.attempts import ATTEMPTS
from fleetops.model.device_service import DEVICE_SERVICES, DeviceServices
from fleetops.model.engine import SERVICE_RECORDS, ServiceRecord
from fleetops.model.fact import Facts, Gap, Key, Missing
from fleetops.model.finding import Baseline, Observation
from fleetops.model.fleet import Flag, Guest, Hypervisor, Node, Profile
from fleetops.model.gpu import GPUS, Gpu, Gpus
from fleetops.model.guest import GUEST, HOST_HOLDERS, PENDING, TASKS, GuestState
from fleetops.model.machine import (
    CGROUP,
    HOLDERS,
    IDENTITY,
    LISTENERS,
    MEMORY,
    PROCESSES,
    SEGMENTS,
    CgroupMemory,
    Holder,
    Identity,
    Listener,
    Memory,
    Process,
    Thread,
)
from fleetops.model.supervisor import SUPERVISORS, Supervisors
from fleetops.model.units import GB, MIB

LAUNCHER_PID = 4121
PORT = 30000
COMMAND = (
    "python3", "-m", "sglang.launch_server", "--model-path", "/models/example", "--tp", "8", "--port", "30000",
    "--enable-hierarchical-cache", "--hicache-size", "48",
)  # fmt: skip


def process(pid: int, comm: str, *cmdline: str, **fields: Any) -> Process:
    """A process that leads its own group and session and sleeps, unless `fields` say otherwise."""
    settled = {
        "ppid": 1, "pgid": pid, "sid": pid, "state": "S", "threads": 1, "start_ticks": 10_000 + pid, **fields
    }  # fmt: skip
    return Process(pid=pid, comm=comm, cmdline=cmdline, **settled)


INIT = process(1, "init", "/sbin/init", ppid=0)
SSHD = process(300, "sshd", "/usr/sbin/sshd", "-D", pgid=300, sid=300)
SHELL = process(900, "bash", "-bash", ppid=300)
BYSTANDER = process(700, "python3", "python3", "/root/bystander.py", rss_bytes=20_000_000)
SYSTEM = (INIT, SSHD, SHELL, BYSTANDER)


def launcher(**fields: Any) -> Process:
    return process(LAUNCHER_PID, "python3", *COMMAND, **{"threads": 40, "rss_bytes": 2 * GB, **fields})


def rank(number: int, **fields: Any) -> Process:
    """One of the launcher's schedulers, alive."""
    settled = {
        "ppid": LAUNCHER_PID, "pgid": LAUNCHER_PID, "sid": LAUNCHER_PID, "threads": 30, "rss_bytes": GB, **fields
    }  # fmt: skip
    return process(4130 + number, "sglang::schedul", f"sglang::scheduler_TP{number}", **settled)


def detokenizer(**fields: Any) -> Process:
    settled = {"ppid": LAUNCHER_PID, "pgid": LAUNCHER_PID, "sid": LAUNCHER_PID, **fields}
    return process(4140, "sglang::detoken", "sglang::detokenizer", **settled)


def zombie(living: Process) -> Process:
    """The same process, killed and not reaped: no command line, no memory, one thread."""
    return replace(living, state="Z", cmdline=(), threads=1, rss_bytes=0)


def ghost(living: Process) -> Process:
    """The same process with its main thread gone and the others alive."""
    threads = (Thread(tid=living.pid + 1000, state="S", rss_bytes=50 * GB),)
    return replace(living, state="Z", cmdline=(), threads=2, rss_bytes=0, live_threads=threads)


def service_processes(**fields: Any) -> tuple[Process, ...]:
    """A healthy server of eight ranks in its own session."""
    return (launcher(**fields), *(rank(number, **fields) for number in range(8)), detokenizer(**fields))


def incident() -> tuple[Process, ...]:
    """The incident: five zombies, two zombie leaders with live threads, one rank in D, a launcher that hangs."""
    ranks = [rank(number) for number in range(8)]
    return (
        launcher(),
        *(zombie(one) for one in ranks[:5]),
        *(ghost(one) for one in ranks[5:7]),
        replace(ranks[7], state="D"),
        detokenizer(),
    )


def listener(*owners: int, port: int = PORT) -> Listener:
    return Listener(port=port, address="127.0.0.1", inode=port, owners=owners)


def holders(*pids: int, gpus: int = 8) -> tuple[Holder, ...]:
    """Every CUDA process has the files of all GPUs open."""
    paths = ["/dev/nvidiactl", "/dev/nvidia-uvm", *(f"/dev/nvidia{minor}" for minor in range(gpus))]
    return tuple(Holder(pid=pid, tid=pid, path=path) for pid in pids for path in paths)


def gpu(index: int, **fields: Any) -> Gpu:
    settled = {
        "uuid": f"GPU-{index}", "bdf": f"0000:{index + 16:02x}:00.0", "name": "NVIDIA H20", "minor": index,
        "memory_total_bytes": 97871 * MIB, "memory_used_bytes": 0, "recovery_action": "None", **fields,
    }  # fmt: skip
    return Gpu(index=index, **settled)


def gpus(count: int = 8, **fields: Any) -> Gpus:
    return Gpus(driver_version="570.86.15", gpus=tuple(gpu(index, **fields) for index in range(count)))


def memory(available_gb: float = 445, **fields: Any) -> Memory:
    settled = {"total_bytes": 449 * GB, "free_bytes": 0, "shmem_bytes": 0, **fields}
    return Memory(available_bytes=round(available_gb * GB), **settled)


def profile(**fields: Any) -> Profile:
    flags = (
        Flag(name="enable_hierarchical_cache", value=True),
        Flag(name="hicache_size", value=48, unit="GB", scope="per-rank"),
    )
    settled = {
        "name": "hicache48", "engine": "sglang", "model": "/models/example", "ranks": 8, "port": PORT,
        "flags": flags, **fields,
    }  # fmt: skip
    return Profile(**settled)


NODE = Node(
    name="node-174", address="10.1.230.174", hypervisor="pve-01", guest=Guest(kind="lxc", id=174), gpus=8,
    profile="hicache48",
)  # fmt: skip
HYPERVISOR = Hypervisor(name="pve-01", address="10.1.230.2")
BASELINE = Baseline(available_bytes=445 * GB, source="recorded 2026-11-20")
RECORD = ServiceRecord(
    profile="hicache48", run_id="20261129-1402-node-174", pid=LAUNCHER_PID, start_ticks=10_000 + LAUNCHER_PID,
    port=PORT, log="/root/sglang.log",
)  # fmt: skip


def node_readings(*processes: Process) -> dict[Key[Any], Any]:
    """A node with nothing wrong beyond what its processes show."""
    return {
        IDENTITY: Identity(hostname="node-174", machine_id="5e0c", boot_id="b", uptime_s=3.5e6),
        MEMORY: memory(),
        CGROUP: CgroupMemory(version=2, limit_bytes=449 * GB, current_bytes=4 * GB),
        PROCESSES: (*SYSTEM, *processes),
        LISTENERS: (),
        HOLDERS: (),
        SEGMENTS: (),
        GPUS: gpus(),
        DEVICE_SERVICES: DeviceServices(),
        SERVICE_RECORDS: (),
        SUPERVISORS: Supervisors(),
    }


def hypervisor_readings() -> dict[Key[Any], Any]:
    guest = GuestState(kind="lxc", id=174, status="running", config={"hostname": "node-174"})
    return {
        MEMORY: memory(540), GUEST: guest, TASKS: (), PENDING: (), HOST_HOLDERS: (), GPUS: gpus(10),
        DEVICE_SERVICES: DeviceServices(), ATTEMPTS: (),
    }  # fmt: skip


def missing(gap: Gap = Gap.TIMED_OUT, why: str = "no answer in 10 s") -> Missing:
    return Missing(gap, why)


def observe(
    *processes: Process,
    node: Node = NODE,
    profile: Profile | None = profile(),  # noqa: B008 - frozen
    baseline: Baseline | None = BASELINE,
    on_hypervisor: dict[Key[Any], Any] | None = None,
    facts: dict[Key[Any], Any] | None = None,
) -> Observation:
    """The observation of a node with these processes; `facts` and `on_hypervisor` replace single readings."""
    readings = {**node_readings(*processes), **(facts or {})}
    on_node = Facts("node-174", 0.0, {key.name: value for key, value in readings.items()})
    beside = {**hypervisor_readings(), **(on_hypervisor or {})}
    found = tuple(
        service
        for engine in engines()
        for service in engine.find_services(
            on_node.value(PROCESSES) or (),
            on_node.value(LISTENERS) or (),
            on_node.value(SERVICE_RECORDS) or (),
        )
    )
    return Observation(
        node=node,
        node_facts=on_node,
        hypervisor=HYPERVISOR if node.hypervisor else None,
        hypervisor_facts=Facts("pve-01", 0.0, {key.name: value for key, value in beside.items()}),
        profile=profile,
        services=found,
        baseline=baseline,
    )
