"""What several facts of one host read by the same command is read once, and told to each of them."""

from types import SimpleNamespace

from fleetops.facts import tasks
from fleetops.fleet.read import read_groups
from fleetops.model.command import Outcome
from fleetops.model.fleet import Hypervisor
from fleetops.model.guest import TASKS

RUNNING = '[{"upid": "UPID:1", "type": "vzdump", "id": "174"}, {"upid": "UPID:2", "type": "qmstart", "id": "181"}]\n'


def test_the_tasks_of_two_guests_are_one_command():
    sent = []

    def batch(commands):
        sent.extend(commands)
        return [Outcome(status=0, stdout=RUNNING) for _ in commands]

    sessions = SimpleNamespace(session=lambda _: SimpleNamespace(batch=batch))
    host = Hypervisor(name="pve-01", address="10.0.0.1")
    found = read_groups(sessions, host, {"node-174": [tasks.fact(174)], "node-181": [tasks.fact(181)]})
    assert len(sent) == 1
    assert [task.type for task in found["node-174"].value(TASKS)] == ["vzdump"]
    assert [task.type for task in found["node-181"].value(TASKS)] == ["qmstart"]
