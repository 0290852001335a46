"""Of a guest that is silent its hypervisor is asked whether it hears anything; of any other silence it is not."""

from pathlib import Path

import pytest
from node_scenes import HYPERVISOR, NODE

from fleetops.facts import guest, ssh_answer
from fleetops.fleet.observe import observe
from fleetops.model.command import Outcome
from fleetops.model.errors import Silence, Unreachable
from fleetops.model.fleet import Inventory
from fleetops.model.machine import SSH_ANSWER, PortAnswer

RUNNING = "status: running\nconfiguration\nhostname: node-174\nend\n"
STOPPED = RUNNING.replace("running", "stopped")


class Fleet:
    """The node keeps silent as told; its hypervisor has a guest and an ear."""

    def __init__(self, reason, guest_says=RUNNING):
        self.reason = reason
        self.says = {
            guest.fact("lxc", 174).command: guest_says,
            ssh_answer.fact(NODE.address, 22).command: "status 124\nconnected\n",
        }
        self.asked = []

    def session(self, host):
        return Door(self, host.name)


class Door:
    def __init__(self, fleet, name):
        self.fleet, self.host = fleet, name

    def batch(self, commands):
        if self.host == "node-174":
            raise Unreachable("node-174: nothing", reason=self.fleet.reason)
        self.fleet.asked += commands
        return [Outcome(status=0 if one in self.fleet.says else 127, stdout=self.fleet.says.get(one, "")) for one in commands]  # fmt: skip


def look(fleet):
    inventory = Inventory(path=Path(), nodes={"node-174": NODE}, hypervisors={"pve-01": HYPERVISOR})
    return observe(fleet, inventory, NODE)


@pytest.mark.parametrize("reason", [Silence.NO_BANNER, Silence.TIMEOUT])
def test_a_running_guest_that_may_hang_is_tried_from_its_hypervisor(reason):
    seen = look(Fleet(reason))
    assert seen.hypervisor_facts.value(SSH_ANSWER) is PortAnswer.SILENT
    assert seen.silence.reason == reason
    assert seen.is_mute


@pytest.mark.parametrize(
    "fleet",
    [Fleet(Silence.REFUSED), Fleet(Silence.AUTH), Fleet(None), Fleet(Silence.NO_BANNER, STOPPED)],
    ids=["refused", "login", "no word", "stopped"],
)
def test_other_silence_is_not_asked_about(fleet):
    seen = look(fleet)
    assert fleet.asked
    assert SSH_ANSWER.name not in seen.hypervisor_facts.readings
    assert not seen.is_mute
