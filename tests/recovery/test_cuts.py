"""The SSH connection breaks around a change: what became of it is seen on the host, and it is made once.

`make cuts` cuts every change of whole recoveries; here it is the reset alone, and hosts that stay out of reach.
"""

import pytest
from cuts.cutter import Moment
from cuts.servers import front
from recovery_matrix.bench import Impatient

from fleetops.lab.breakages.base import BrokenNode
from fleetops.lab.breakages.gpu_memory_held import hold_gpu_memory

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
_CLAIMS = "cd /run/fleetops/runs/$1 && for claim in reset-gpus-*; do [ ! -e $claim/pid ] || echo $claim; done"


@pytest.fixture(scope="module")
def before(lab, tmp_path_factory):
    """The lab behind a front that cuts."""
    with front(lab, tmp_path_factory.mktemp("front") / "client") as opened:
        yield opened


@pytest.fixture
def through(before, tmp_path) -> Impatient:
    return Impatient(before.inventory, tmp_path)


def gpu_use(fleet, node: str) -> int:
    return sum(gpu.memory_used_bytes for gpu in fleet.look(node).node_facts.readings["gpus"].gpus)


def test_a_reset_is_made_once_whenever_its_connection_breaks(fleet, before, through):
    node = BrokenNode(fleet.lab.folder, "node-190")
    for moment in (Moment.BEFORE, Moment.WHILE, Moment.AFTER):
        node.clear()
        hold_gpu_memory(node)
        before.cutter.arm("fleetops-reset-gpus", moment)
        ran = through("reset-gpus", "node-190", "--yes", "--json")
        assert before.cutter.cut.startswith("node-190 reset-gpus: fleetops-reset-gpus GPU-")
        assert ran.status == 0, (moment, ran)
        begun = fleet.run("node-190", "sh", "-c", _CLAIMS, "claims", ran.json["run"]).split()
        assert len(begun) == 1, (moment, begun)
        assert gpu_use(fleet, "node-190") < 2**30
        assert fleet.run("node-190", "sh", "-c", "ls /run/fleetops/locks") == ""


@pytest.mark.long
@pytest.mark.parametrize(
    ("cut", "told"),
    [
        pytest.param(
            ("fleetops-submit power-cycle-stop", Moment.AFTER),
            (
                "node-175 is not proven down 20 s later: what became of pct stop 175 is not known",
                "fleetops probe",
            ),
            id="during the stop",
        ),
        pytest.param(
            ("power-cycle: fleetops-reset-gpus", Moment.BEFORE),
            ("node-175 is stopped and could not be started: pve-01: cannot connect", "-- pct start 175"),
            id="before the reset",
        ),
        pytest.param(
            ("fleetops-submit power-cycle-start", Moment.BEFORE),
            (
                "node-175 is stopped, and what became of pct start 175 is not known: pve-01 does not answer",
                "fleetops recover",
            ),
            id="before the start",
        ),
    ],
)
def test_a_hypervisor_that_stops_answering_halfway(fleet, before, through, cut, told):
    fleet.break_node("vram-needs-restart", "node-175")
    before.cutter.arm(*cut, lambda: before.dark.add("pve-01"))
    try:
        ran = through("recover", "node-175", "--yes", "--json", timeout=500)
        assert before.cutter.cut
        assert ran.status == 4, ran
        why, to_type = told
        assert why in ran.json["why"]
        assert to_type in ran.json["hint"]
    finally:
        before.dark.clear()
    again = through("recover", "node-175", "--yes", "--json", timeout=500)
    assert again.status == 0, again
    assert again.json["continues"]["run_id"] == ran.json["run"]
    assert fleet.generates("node-175") == 5
    claims = fleet.run("pve-01", "sh", "-c", "cd /run/fleetops/runs; ls -d */power-cycle-st*/pid").split()
    mine = [one.split("/")[1] for one in claims if one.split("/")[0] in {ran.json["run"], again.json["run"]}]
    assert sorted(mine) == ["power-cycle-start", "power-cycle-stop"]
