"""A sweep with a policy, on the lab: the node is healed once its finding is firm, with a journal that says why."""

import io

import pytest
from command_line import clean_environment

from fleetops.cli._policy import act
from fleetops.cli.world import World
from fleetops.inventory.load import load_inventory
from fleetops.lab import api
from fleetops.model.exit import Exit
from fleetops.model.policy import Policy
from fleetops.playbook.journal import list_runs

NODE = "node-181"
POLICY = Policy(name="night", findings=("ranks-dead", "ghost-leaders"), nodes=(NODE,), rung=2)


@pytest.mark.lab
@pytest.mark.timeout(300)
def test_the_second_sweep_recovers_what_the_first_has_seen_and_the_third_has_nothing_to_do(
    lab, sweeper, tmp_path
):
    api.break_node(lab.folder, NODE, "zombies")
    inventory = load_inventory(lab.inventory)
    sweeps = sweeper(inventory)
    out, err = io.StringIO(), io.StringIO()
    world = World(
        stdin=io.StringIO(),
        stdout=out,
        stderr=err,
        environ={**clean_environment(), "HOME": str(tmp_path)},
        cwd=tmp_path,
    )
    output = world.output(type("Plain", (), {"json": False}))
    runs = lambda: [one for one in list_runs(inventory.settings.state) if one.node == NODE]  # noqa: E731
    before = len(runs())
    assert act(sweeps.once(), POLICY, world, inventory, output) is None
    assert act(sweeps.once(), POLICY, world, inventory, output) is Exit.FINE, err.getvalue()
    assert f"policy night: ranks dead on {NODE}, recovering it" in err.getvalue()
    assert "power-cycle left out" in out.getvalue()
    (run,) = runs()[: len(runs()) - before]
    assert (run.playbook, run.status) == ("recover", "done")
    third = sweeps.once()
    assert not [one for one in third.tracked if one.finding.host == NODE and one.is_seen]
    assert act(third, POLICY, world, inventory, output) is None
