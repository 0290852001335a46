"""A worker whose parent lives is somebody's own engine, not an orphan of a dead server."""

from dataclasses import replace

from node_scenes import holders, observe, process, rank

from fleetops.checks import judge
from fleetops.engines.attribution import attribute
from fleetops.model.machine import HOLDERS

BATCH = process(600, "python3", "python3", "batch.py")


def worker(number: int, parent: int):
    return replace(rank(number), ppid=parent, pgid=600, sid=600)


def test_a_batch_jobs_engine_is_a_stranger_and_never_ended():
    scene = observe(BATCH, worker(0, 600), worker(1, 600), facts={HOLDERS: holders(4130, 4131)})
    found = attribute(scene)
    assert found.processes == ()
    assert {stranger.pid for stranger in found.strangers} == {4130, 4131}
    assert not any(finding.check == "orphans" for finding in judge(scene))


def test_workers_left_to_init_are_orphans():
    scene = observe(worker(0, 1), worker(1, 1), facts={HOLDERS: holders(4130, 4131)})
    assert {process.pid for process in attribute(scene).processes} == {4130, 4131}
