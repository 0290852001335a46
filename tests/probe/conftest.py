"""Nodes as they are found: idle, serving, and wedged as in the incident; built of the model's own nouns."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from fleetops.model.engine import ENGINE_SOURCE, EngineSource, Rank, Service
from fleetops.model.fact import Facts, Key
from fleetops.model.finding import Baseline, Observation
from fleetops.model.fleet import Flag, Guest, Hypervisor, Node, Profile
from fleetops.model.gpu import GPUS, Gpu, Gpus
from fleetops.model.guest import GUEST, GUESTS, HOST_HOLDERS, TASKS, GuestEntry, GuestState, HostHolder
from fleetops.model.machine import (
    HOLDERS,
    IDENTITY,
    LISTENERS,
    MEMORY,
    PROCESSES,
    SEGMENTS,
    Holder,
    Identity,
    Listener,
    Memory,
    Process,
    Segment,
    Thread,
)
from fleetops.model.units import GB, GIB, MB

NODE = Node(
    name="node-174",
    address="10.1.230.174",
    hypervisor="pve-01",
    guest=Guest(kind="lxc", id=174),
    gpus=8,
    profile="hicache48",
)
HYPERVISOR = Hypervisor(name="pve-01", address="10.1.230.2")
PROFILE = Profile(
    name="hicache48",
    engine="sglang",
    model="/models/example",
    ranks=8,
    port=30000,
    flags=(Flag(name="hicache_size", value=48, unit="GB", scope="per-rank"),),
)
INIT = Process(
    pid=1, ppid=0, pgid=1, sid=1, state="S", threads=1, comm="systemd", start_ticks=1, rss_bytes=9 * MB
)
LAUNCHER = Process(
    pid=4121,
    ppid=1,
    pgid=4121,
    sid=4121,
    state="S",
    threads=4,
    comm="python3",
    start_ticks=354_000_000,
    cmdline=("python3", "-m", "sglang.launch_server", "--tp", "8", "--hicache-size", "300"),
    rss_bytes=2 * GB,
)
UPTIME_S = 41 * 86_400.0


def rank(number: int, **changes: Any) -> Process:
    """A living rank; `changes` say what happened to it."""
    living = Process(
        pid=4130 + number,
        ppid=4121,
        pgid=4121,
        sid=4121,
        state="S",
        threads=40,
        comm="sglang::schedul",
        start_ticks=354_000_100,
        cmdline=(f"sglang::scheduler_TP{number}",),
        rss_bytes=6 * GB,
    )
    return replace(living, **changes)


def zombie(number: int) -> Process:
    return rank(number, state="Z", threads=1, cmdline=(), rss_bytes=0)


def ghost(number: int) -> Process:
    threads = (Thread(tid=4200 + number, state="S", rss_bytes=6 * GB),)
    return rank(number, state="Z", threads=2, cmdline=(), rss_bytes=0, live_threads=threads)


def opened(*threads: tuple[int, int]) -> tuple[Holder, ...]:
    """Every CUDA process has all GPUs' device files open, not only its own (pid, thread)."""
    return tuple(
        Holder(pid=pid, tid=tid, path=f"/dev/nvidia{gpu}") for pid, tid in threads for gpu in range(8)
    )


def gpus(used_bytes: int, *, count: int = 8, action: str = "None") -> Gpus:
    return Gpus(
        driver_version="570.124.06",
        gpus=tuple(
            Gpu(
                uuid=f"GPU-{index}",
                bdf=f"0000:{index:02x}:00.0",
                index=index,
                minor=index,
                name="NVIDIA H20",
                memory_total_bytes=96 * GIB,
                memory_used_bytes=used_bytes,
                recovery_action=action,
            )
            for index in range(count)
        ),
    )


def facts(host: str, readings: dict[Key[Any], Any]) -> Facts:
    return Facts(host, 1_700_000_000.0, {key.name: reading for key, reading in readings.items()})


def outside(holders: int) -> Facts:
    return facts(
        "pve-01",
        {
            GUEST: GuestState(kind="lxc", id=174, status="running"),
            GUESTS: (GuestEntry(kind="lxc", id=174, name="node-174", status="running"),),
            TASKS: (),
            HOST_HOLDERS: tuple(
                HostHolder(pid=90_000 + number, comm="sglang::schedul", path="/dev/nvidia0", guest_id=174)
                for number in range(holders)
            ),
        },
    )


@pytest.fixture
def idle() -> Observation:
    return Observation(
        node=NODE,
        hypervisor=HYPERVISOR,
        profile=PROFILE,
        baseline=Baseline(available_bytes=445 * GB, source="recorded"),
        hypervisor_facts=outside(0),
        node_facts=facts(
            "node-174",
            {
                IDENTITY: Identity(hostname="node-174", machine_id="5e0c", boot_id="b", uptime_s=UPTIME_S),
                MEMORY: Memory(
                    total_bytes=449 * GB, available_bytes=445 * GB, free_bytes=440 * GB, shmem_bytes=0
                ),
                PROCESSES: (INIT,),
                LISTENERS: (),
                HOLDERS: (),
                SEGMENTS: (),
                GPUS: gpus(0),
                ENGINE_SOURCE: EngineSource(engine="sglang", version="0.5.9", folder="/root/sglang"),
            },
        ),
    )


Changed = Callable[..., Observation]


@pytest.fixture
def changed() -> Changed:
    """An observation with some of its readings replaced: on the node, or (`outside=`) on its hypervisor."""

    def change(
        observation: Observation,
        readings: dict[Key[Any], Any],
        *,
        outside: dict[Key[Any], Any] | None = None,
        services: tuple[Service, ...] | None = None,
    ) -> Observation:
        new = {key.name: value for key, value in readings.items()}
        node_facts = replace(observation.node_facts, readings={**observation.node_facts.readings, **new})
        there = observation.hypervisor_facts
        if outside is not None and there is not None:
            there = replace(
                there, readings={**there.readings, **{key.name: value for key, value in outside.items()}}
            )
        return replace(
            observation,
            node_facts=node_facts,
            hypervisor_facts=there,
            services=observation.services if services is None else services,
        )

    return change


def service(ranks: list[Process], flags: dict[str, str]) -> Service:
    return Service(
        engine="sglang",
        launcher=LAUNCHER,
        ranks=tuple(
            Rank(number=None if one.is_zombie else place, process=one) for place, one in enumerate(ranks)
        ),
        port=30000,
        flags=flags,
    )


@pytest.fixture
def serving(idle: Observation, changed: Changed) -> Observation:
    ranks = [rank(number) for number in range(8)]
    return changed(
        idle,
        {
            MEMORY: Memory(total_bytes=449 * GB, available_bytes=61 * GB, free_bytes=50 * GB, shmem_bytes=0),
            PROCESSES: (INIT, LAUNCHER, *ranks),
            LISTENERS: (Listener(port=30000, address="0.0.0.0", inode=7, owners=(4121,)),),
            HOLDERS: opened(*((one.pid, one.pid) for one in ranks)),
            GPUS: gpus(90 * GIB),
        },
        outside={HOST_HOLDERS: outside(8).readings["host-holders"]},
        services=(service(ranks, {"tp": "8", "hicache_size": "48"}),),
    )


@pytest.fixture
def wedged(idle: Observation, changed: Changed) -> Observation:
    """The incident: five ranks killed and not reaped, two leaders dead with live threads, one in D, the launcher hung."""
    ranks = [*(zombie(number) for number in range(5)), ghost(5), ghost(6), rank(7, state="D")]
    return changed(
        idle,
        {
            MEMORY: Memory(
                total_bytes=449 * GB, available_bytes=9_600 * MB, free_bytes=4 * GB, shmem_bytes=12 * GB
            ),
            PROCESSES: (INIT, LAUNCHER, *ranks),
            LISTENERS: (Listener(port=30000, address="0.0.0.0", inode=7, owners=()),),
            HOLDERS: opened((4135, 4205), (4136, 4206), (4137, 4137)),
            SEGMENTS: tuple(
                Segment(name=f"/dev/shm/sgl_shm_x_{pid}_a", kind="posix", size_bytes=3 * GB, creator_pid=pid)
                for pid in range(4130, 4134)
            ),
            GPUS: gpus(92 * GIB),
        },
        outside={HOST_HOLDERS: outside(3).readings["host-holders"]},
        services=(service(ranks, {"tp": "8", "hicache_size": "300"}),),
    )
