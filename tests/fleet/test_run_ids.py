"""Run ids: telling, in the order of time, and never the same for two controllers that start in the same second."""

from pathlib import Path

from node_scenes import NODE

from fleetops.fleet.operate import Operation
from fleetops.model.fleet import Inventory
from fleetops.playbook.load import shipped_playbook


def operation(state: Path, at: float) -> Operation:
    return Operation(
        inventory=Inventory(path=state, nodes={"node-174": NODE}),
        node=NODE,
        profile=None,
        book=shipped_playbook("kill"),
        sessions=None,
        state=state,
        clock=lambda: at,
    )


def test_two_controllers_in_the_same_second_are_two_runs(tmp_path: Path):
    ids = {operation(tmp_path, 1_764_424_800.0)._run_id() for _ in range(40)}
    assert len(ids) > 38
    assert all(one.startswith("20251129-140000-node-174-") for one in ids)


def test_they_sort_by_time(tmp_path: Path):
    assert operation(tmp_path, 1_764_424_800.0)._run_id() < operation(tmp_path, 1_764_424_801.0)._run_id()
