"""What is remembered: the newest launch, the newest idle state, the first machine-id."""

import stat
from pathlib import Path

from fleetops.model.finding import Baseline
from fleetops.model.record import Capacity, LaunchRecord
from fleetops.store.database import Store


def launch(run_id: str, at: float, tokens: int) -> LaunchRecord:
    return LaunchRecord(
        node="node-174", profile="hicache48", at=at, run_id=run_id, capacity=Capacity(device_tokens=tokens)
    )


def test_the_last_launch_is_the_newest_one_of_another_run(tmp_path: Path):
    store = Store(tmp_path)
    store.record_launch(launch("old", 1.0, 116171))
    store.record_launch(launch("new", 2.0, 231120))
    assert store.last_launch("node-174") == launch("new", 2.0, 231120)
    assert store.last_launch("node-174", other_than="new") == launch("old", 1.0, 116171)
    assert store.last_launch("node-175") is None


def test_a_baseline_is_replaced_by_a_newer_one(tmp_path: Path):
    store = Store(tmp_path)
    store.record_baseline("node-174", 1.0, Baseline(available_bytes=1))
    newer = Baseline(available_bytes=445 * 10**9, gpu_used_bytes={"GPU-1": 4}, source="recorded 2026-11-29")
    store.record_baseline("node-174", 2.0, newer)
    assert Store(tmp_path).baseline("node-174") == newer


def test_a_recorded_machine_id_is_never_overwritten(tmp_path: Path):
    store = Store(tmp_path)
    store.record_machine_id("node-174", "a" * 32, 1.0)
    store.record_machine_id("node-174", "b" * 32, 2.0)
    assert store.machine_id("node-174") == "a" * 32


def test_the_file_is_private(tmp_path: Path):
    Store(tmp_path)
    assert stat.S_IMODE((tmp_path / "fleetops.db").stat().st_mode) == 0o600
