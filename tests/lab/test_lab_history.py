"""The incident's node has a past: a launch before the incident, and an idle state on record."""

from pathlib import Path

from fleetops.lab.fleet import gpus_of, lab_host
from fleetops.lab.history import record_history
from fleetops.store.database import Store


def test_the_last_good_launch_is_on_record(tmp_path: Path) -> None:
    record_history(tmp_path, now=1_795_990_000.0)
    launch = Store(tmp_path).last_launch("node-174")
    assert launch
    assert (launch.capacity.device_tokens, launch.capacity.tokens_per_s) == (116171, 850.0)
    assert launch.run_id == "20261120-220640-node-174"


def test_the_idle_state_is_that_of_the_labs_host(tmp_path: Path) -> None:
    record_history(tmp_path)
    baseline = Store(tmp_path).baseline("node-174")
    assert baseline
    assert baseline.available_bytes == 445 * 10**9
    gpus = [gpu for gpu in gpus_of(lab_host("pve-01")) if gpu.minor < 8]
    assert baseline.gpu_used_bytes == {gpu.uuid: gpu.idle_mib * 2**20 for gpu in gpus}
