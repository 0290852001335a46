"""A node that is silent because another run switches its power: that run is named, and nothing is advised beside it."""

from dataclasses import replace
from pathlib import Path

import pytest
from local_session import LocalSession
from node_scenes import HYPERVISOR, NODE, observe

from fleetops.fleet import operate
from fleetops.fleet.operate import Operation
from fleetops.model.errors import Refused, Unreachable
from fleetops.model.fact import Facts, Gap, Missing
from fleetops.model.fleet import Inventory
from fleetops.model.guest import GUEST, GuestState
from fleetops.playbook import lock
from fleetops.playbook.load import shipped_playbook
from fleetops.playbook.lock import HYPERVISOR_LOCK, Owner, take_lock

STOPPED = GuestState(kind="lxc", id=174, status="stopped", config={"hostname": "node-174"})
REFUSED = Missing(Gap.UNREACHABLE, "node-174: connection refused", reason="refused")


class Sessions:
    """Only the hypervisor is reached."""

    def __init__(self) -> None:
        self.local = LocalSession(HYPERVISOR.name)

    def session(self, host):
        assert host == HYPERVISOR
        return self.local


def silent(**beside):
    seen = observe(node=NODE, on_hypervisor={GUEST: STOPPED, **beside})
    return replace(seen, node_facts=Facts("node-174", 0.0, {"identity": REFUSED}), services=())


@pytest.fixture
def operation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lock, "_FOLDER", str(tmp_path / "locks"))
    monkeypatch.setattr(lock, "_RUNS", str(tmp_path / "runs"))

    def of(observation, book="recover"):
        monkeypatch.setattr(operate, "observe", lambda *_args, **_options: observation)
        inventory = Inventory(path=tmp_path, nodes={"node-174": NODE}, hypervisors={"pve-01": HYPERVISOR})
        return Operation(
            inventory=inventory,
            node=NODE,
            profile=None,
            book=shipped_playbook(book),
            sessions=Sessions(),
            state=tmp_path,
        )

    return of


@pytest.mark.parametrize("book", ["recover", "kill"])
def test_the_run_that_has_the_hypervisor_is_named_and_nobody_is_told_to_start_the_guest(operation, book):
    one = operation(silent(), book)
    owner = replace(Owner.this_process("run-1"), controller="ops-2.example")
    take_lock(one.sessions.local, HYPERVISOR_LOCK, owner)
    with pytest.raises(Refused, match=r"pve-01 is locked by run run-1 of .* for \d+ s") as refused:
        one.prepare()
    assert (refused.value.guard, refused.value.hint) == ("lock", "fleetops runs")


def test_without_such_a_run_a_stopped_guest_is_what_it_is(operation):
    with pytest.raises(Unreachable, match="guest 174 is stopped") as unreachable:
        operation(silent()).prepare()
    assert unreachable.value.hint.endswith("pct start 174")


def test_a_hypervisor_that_does_not_answer_is_not_asked_again(operation):
    gone = Missing(Gap.UNREACHABLE, "pve-01: connection refused", reason="refused")
    one = operation(silent())
    one.sessions = None
    seen = replace(silent(), hypervisor_facts=Facts("pve-01", 0.0, {"guest": gone}))
    with pytest.raises(Unreachable, match="does not tell how the guest is"):
        operation(seen).prepare()
