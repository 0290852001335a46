"""What fleetops remembers of the incident's node: its last good launch, and how it looks when idle.

The figures are the incident's: 116171 device tokens at about 850 tokens a second, 445 GB available when idle.
"""

import time
from dataclasses import asdict
from pathlib import Path

from fleetops.lab.fleet import LabHost, gpus_of, lab_host
from fleetops.model.finding import Baseline
from fleetops.model.load import SHORT
from fleetops.model.record import Capacity, LaunchRecord
from fleetops.store.database import Store

NODE = "node-174"
_DAYS_AGO = 9
_MIB = 2**20
# Before the incident the service ran without a host pool, at a static fraction of 0.80.
_BEFORE = Capacity(device_tokens=116171, ranks=8, tokens_per_s=850.0, ready_s=331.0, **asdict(SHORT))


def record_history(state: Path, now: float | None = None) -> None:
    """Write it into a lab's state folder, as an earlier launch by fleetops would have."""
    store, at = Store(state), (now or time.time()) - _DAYS_AGO * 86400
    run_id = time.strftime(f"%Y%m%d-%H%M%S-{NODE}", time.gmtime(at))
    store.record_launch(
        LaunchRecord(node=NODE, profile="without-hicache", at=at, run_id=run_id, capacity=_BEFORE)
    )
    store.record_baseline(NODE, at, _baseline(lab_host(NODE), at))


def _baseline(host: LabHost, at: float) -> Baseline:
    gpus = [gpu for gpu in gpus_of(lab_host(host.hypervisor)) if gpu.minor in host.minors]
    return Baseline(
        available_bytes=host.idle_bytes,
        gpu_used_bytes={gpu.uuid: gpu.idle_mib * _MIB for gpu in gpus},
        source=f"recorded {time.strftime('%Y-%m-%d', time.gmtime(at))}",
    )
