"""GPU memory in the table of what came back: what could not be read is not called 0."""

from dataclasses import replace

import pytest
from node_scenes import GPUS, gpu, gpus, observe

from fleetops.steps.support.reclaim import reclaim_rows

UNREADABLE = gpu(0, failing=(("fb_memory_usage/used", "ERR!"),))


@pytest.mark.parametrize(
    ("seen", "shown"),
    [((gpu(0),), "0 GiB"), ((), "unknown"), ((UNREADABLE,), "unknown")],
    ids=["one that is free", "none told of", "one unreadable"],
)
def test_what_could_not_be_read_is_unknown(seen, shown):
    observation = observe(facts={GPUS: replace(gpus(), gpus=seen)})
    (row,) = (one for one in reclaim_rows(observation, observation) if one.fact == "gpu-memory")
    assert (row.before, row.after) == (shown, shown)
