"""Two operators at once: exactly one acts, and the other is told who. `make contention` does it two hundred times."""

import re
import signal

import pytest
from contention.contest import CONTESTS, fight, operators

from fleetops.lab.breakages.base import BrokenNode

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]
_LAPSE = 'sed -i \'s/"until_uptime": [0-9]*/"until_uptime": 0/\' /run/fleetops/locks/node.lock'


@pytest.mark.parametrize("contest", CONTESTS, ids=[one.title for one in CONTESTS])
def test_of_two_operators_exactly_one_acts(lab, tmp_path, contest):
    for node in set(contest.nodes):
        BrokenNode(lab.folder, node).clear()
    with operators(contest.lock, tmp_path) as both:
        for _ in range(2 if len(set(contest.nodes)) == 1 else 1):
            assert fight(lab.folder, lab.inventory, contest, both).faults == []


@pytest.mark.long
def test_a_controller_that_sleeps_past_its_lease_changes_nothing_when_it_wakes(fleet):
    fleet.break_node("zombies", "node-175")
    asleep = fleet.fleetops.start("kill", "node-175", "--yes")
    try:
        while not re.search("keep evidence +done", line := asleep.stdout.readline()):
            assert line, "it has ended before it was put to sleep"
        asleep.send_signal(signal.SIGSTOP)
        fleet.run("node-175", "sh", "-c", _LAPSE)
        other = fleet.fleetops("kill", "node-175", "--yes", "--json")
        assert other.status == 0, other
    finally:
        asleep.send_signal(signal.SIGCONT)
    out, err = asleep.communicate(timeout=120)
    assert asleep.returncode == 5, (out, err)
    assert "is not its own any more" in out
