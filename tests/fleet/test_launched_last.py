"""A recovery relaunches what the inventory says; where another profile was launched since, its plan and probe say so."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from local_session import LocalSession
from node_scenes import HYPERVISOR, NODE, observe, profile, rank

from fleetops.fleet import operate, probe
from fleetops.fleet.health import Health
from fleetops.fleet.launched import relaunching
from fleetops.fleet.operate import Operation
from fleetops.model.fleet import Inventory
from fleetops.model.plan import Plan
from fleetops.model.record import Capacity, LaunchRecord
from fleetops.playbook.load import shipped_playbook, without_relaunch
from fleetops.render.operate import plan_json, show_plan
from fleetops.render.output import Output
from fleetops.store.database import Store

OWN, OTHER = replace(profile(), name="small"), replace(profile(), name="vllm-small")


class Sessions:
    """Nothing is wrong, and nobody was here."""

    def session(self, host):
        return LocalSession(host.name)


@pytest.fixture
def plan_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The plan of a recovery by `wanted`, on a node on which `launched` were launched in that order."""
    monkeypatch.setattr(operate, "judge_health", lambda situation, _: Health(well="", situation=situation))
    monkeypatch.setattr(operate, "prove", lambda situation, *_: situation)
    node = replace(NODE, profile="small")
    monkeypatch.setattr(
        operate, "observe", lambda *_args, profile, **_options: observe(node=node, profile=profile)
    )

    def of(*launched: str, wanted=OWN, book=None) -> Plan:
        inventory = Inventory(
            path=tmp_path,
            nodes={"node-174": node},
            hypervisors={"pve-01": HYPERVISOR},
            profiles={"small": OWN, "vllm-small": OTHER},
        )
        operation = Operation(
            inventory=inventory,
            node=node,
            profile=wanted,
            book=book or shipped_playbook("recover"),
            sessions=Sessions(),
            state=tmp_path,
        )
        for at, name in enumerate(launched):
            record = LaunchRecord(
                node="node-174", profile=name, at=float(at), run_id=str(at), capacity=Capacity()
            )
            operation.store.record_launch(record)
        return operation.prepare()[0]

    return of


def test_the_plan_says_which_profile_was_launched_last_and_the_command_for_that_one(plan_of):
    plan = plan_of("small", "vllm-small")
    out = io.StringIO()
    show_plan(Output(out, io.StringIO(), environ={}), plan, (), exact=False)
    assert out.getvalue().splitlines()[-2:] == [
        "  vllm-small was launched here last; this plan launches small, as the inventory says",
        "  that one instead: fleetops recover --profile vllm-small node-174",
    ]
    assert plan_json(plan, "planned")["launched_last"] == "vllm-small"


@pytest.mark.parametrize("launched", [(), ("vllm-small", "small"), ("not-in-the-inventory",)])
def test_nothing_is_said_where_no_other_one_can_be_meant(plan_of, launched):
    assert plan_of(*launched).launched_last == ""


def test_whoever_names_a_profile_or_relaunches_none_is_not_told(plan_of):
    assert plan_of("small", wanted=OTHER).launched_last == ""
    assert plan_of("vllm-small", book=without_relaunch(shipped_playbook("recover"))).launched_last == ""


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("fleetops recover node-174 --dry-run", "fleetops recover node-174 --profile vllm-small --dry-run"),
        ("a person reboots it, then fleetops recover node-174", "a person reboots it, then fleetops recover node-174 --profile vllm-small"),
        ("fleetops recover node-174 --profile p", "fleetops recover node-174 --profile p"),
        ("fleetops kill node-174", "fleetops kill node-174"),
        ("", ""),
    ],
)  # fmt: skip
def test_a_recovery_that_is_told_relaunches_that_one(command, told):
    assert relaunching(command, NODE, "vllm-small") == told


def test_probe_tells_the_recovery_that_brings_back_what_ran(tmp_path, monkeypatch):
    node = replace(NODE, profile="small")
    monkeypatch.setattr(probe, "observe", lambda *_args, **_options: observe(rank(0, ppid=1), node=node))
    inventory = Inventory(
        path=tmp_path, nodes={node.name: node}, profiles={"small": OWN, "vllm-small": OTHER}
    )
    store = Store(tmp_path)

    def told() -> set[str]:
        (report,) = probe.probe_nodes(None, inventory, [node], store)
        return {one.next for one in report.findings if "recover" in one.next}

    assert told() == {"fleetops recover node-174 --dry-run"}
    store.record_launch(
        LaunchRecord(node="node-174", profile="vllm-small", at=1.0, run_id="1", capacity=Capacity())
    )
    assert told() == {"fleetops recover node-174 --profile vllm-small --dry-run"}
