"""The controller of a recovery is killed: the next one says so, goes on, and repeats nothing that is unsafe to repeat.

`make interruptions` tries every point between two effects; the three that tell most run every time.
"""

import pytest
from interruptions.trial import Scenario, run_trial
from recovery_matrix.bench import Bench, Impatient

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]


@pytest.fixture
def bench(lab, tmp_path) -> Bench:
    return Bench(lab, Impatient(lab.inventory, tmp_path))


@pytest.mark.parametrize(
    ("scenario", "point"),
    [
        pytest.param(
            Scenario("bare", "gpu-memory-held"), "fleetops-reset-gpus on its way", id="during a reset"
        ),
        pytest.param(
            Scenario("vm", "no-banner", restarts=True),
            "fleetops-submit made",
            id="the guest stopped",
            marks=pytest.mark.long,
        ),
        pytest.param(
            Scenario("lxc", "zombies"),
            "fleetops-start made",
            id="the service started",
            marks=pytest.mark.long,
        ),
    ],
)
def test_the_next_recovery_ends_as_an_undisturbed_one(bench, tmp_path, scenario, point):
    trial = run_trial(bench, scenario, point, tmp_path / "points")
    assert trial.what == point
    assert not trial.faults
