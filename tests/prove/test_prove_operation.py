"""A launch and a recovery as their commands prepare them: what is proven when, at what cost, and what it may hold up."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from local_session import LocalSession
from node_scenes import NODE, detokenizer, holders, incident, launcher, listener, observe, rank
from proof_scenes import asking

from fleetops.fleet.operate import Operation
from fleetops.lab import wheel
from fleetops.model.engine import ENGINE_SOURCE, EngineSource
from fleetops.model.finding import Observation
from fleetops.model.fleet import Flag, Inventory, Profile
from fleetops.model.guest import CLAIMS, GUEST, GUESTS, DeviceClaim, GuestEntry, GuestState
from fleetops.model.machine import HOLDERS, LISTENERS, Process
from fleetops.model.record import Capacity, LaunchRecord
from fleetops.model.session import Answer, Streaming
from fleetops.playbook import lock
from fleetops.playbook.book import Entry, Playbook
from fleetops.playbook.load import shipped_playbook
from fleetops.store.proofs import Proofs


class Node(LocalSession):
    """This machine as the node, with a service's port where it answers."""

    answer: Answer | None = None

    @contextmanager
    def stream(self, *_: object, **__: object) -> Iterator[Streaming]:
        if self.answer is None:
            raise ConnectionRefusedError
        yield Streaming(self.answer.status, "application/json", 0.0, iter([self.answer.body]))


@dataclass
class Scene:
    """One node with a source tree of its own."""

    tree: Path
    state: Path
    node: Node = field(default_factory=Node)

    def session(self, host: object) -> Node:
        return self.node

    def operation(
        self, book: str, *processes: Process, profile: Profile | None = None, facts=None, **options
    ) -> Operation:
        asked = profile or asking()
        path = {"PYTHONPATH": str(self.tree)}
        asked = replace(asked, command=(sys.executable,), environment=path)
        source = EngineSource(engine="sglang", version="0.5.9", folder=str(self.tree / "sglang"))
        guest = GuestState(
            kind="lxc", id=174, status="running", config={"hostname": "node-174"}, machine_id="5e0c"
        )
        claim = DeviceClaim(guest_id=174, kind="lxc", minors=tuple(range(8)))
        entry = GuestEntry(kind="lxc", id=174, name="node-174", status="running")
        seen = observe(
            *processes,
            profile=asked,
            facts={ENGINE_SOURCE: source, **(facts or {})},
            on_hypervisor={GUEST: guest, CLAIMS: (claim,), GUESTS: (entry,)},
        )
        return Looking(
            inventory=Inventory(path=self.state, nodes={"node-174": NODE}),
            node=NODE,
            profile=asked,
            book=shipped_playbook(book),
            sessions=self,
            state=self.state,
            proofs=Proofs(self.state / "cache"),
            seen=seen,
            **options,
        )

    def patch(self, file: str, *changes: tuple[str, str]) -> None:
        path = self.tree / "sglang" / file
        text = path.read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path.write_text(text)


@dataclass(kw_only=True)
class Looking(Operation):
    """An operation whose facts are given."""

    seen: Observation

    def look(self) -> Observation:
        return self.seen


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr(lock, "_FOLDER", str(tmp_path / "locks"))
    wheel._write_stand_in(tmp_path / "tree")
    (tmp_path / "state").mkdir()
    return Scene(tmp_path / "tree", tmp_path / "state")


def blocked(plan, step: str = "prove") -> str:
    return next(one.blocked for one in plan.steps if one.step == step)


def test_a_launch_is_planned_with_the_proof_from_the_nodes_source(scene):
    plan, situation = scene.operation("launch").prepare()
    proof = plan.proofs["hicache_size"]
    assert (proof.verdict, proof.unit, proof.scope) == ("proven", "GB", "per-rank")
    assert plan.steps[0].step == "prove"
    assert plan.steps[0].detail == "hicache_size: GB per rank, proven"
    assert situation.proofs == plan.proofs
    assert plan.first_obstacle is None


def test_what_was_proven_of_the_same_source_before_costs_no_more_than_its_digest(scene):
    scene.operation("launch").prepare()
    first = len(scene.node.ran)
    scene.operation("launch").prepare()
    again = [command.argv[3] for command in scene.node.ran[first:]]
    assert len(again) == 3  # which package, the model's config, the digest
    assert len(again) < first


def test_a_size_that_does_not_fit_is_refused_before_anything_is_changed(scene):
    plan, _ = scene.operation("launch", profile=asking(300)).prepare()
    obstacle = plan.first_obstacle
    assert obstacle.guard == "size"
    assert "hicache_size is GB per rank, proven" in obstacle.blocked
    assert "2,400 GB" in obstacle.blocked
    assert "int(host_size * 1e9 // self.size_per_token)" in obstacle.blocked


def test_a_profile_that_believes_in_a_total_is_refused_with_both(scene):
    plan, _ = scene.operation("launch", profile=asking(300, "GB", "total")).prepare()
    assert plan.first_obstacle.guard == "proof"
    assert "says GB total" in plan.first_obstacle.blocked
    assert "says GB per rank" in plan.first_obstacle.blocked


def test_a_flag_that_the_nodes_release_does_not_have_is_refused_with_the_nearest(scene):
    flags = (Flag(name="hicache_sise", value=48, unit="GB", scope="per-rank"),)
    plan, _ = scene.operation("launch", profile=asking(flags=flags)).prepare()
    assert plan.first_obstacle.guard == "proof"
    assert "has no flag hicache_sise" in plan.first_obstacle.blocked
    assert "hicache_size" in plan.first_obstacle.blocked


def run(operation: Operation, situation, *steps: str):
    operation.book = Playbook(name="launch", summary="", entries=tuple(Entry(step=one) for one in steps))
    return operation.execute(situation, lambda _: None)


def test_a_comment_that_is_added_between_plan_and_run_is_proven_anew_and_goes_on(scene):
    operation = scene.operation("launch")
    plan, situation = operation.prepare()
    scene.patch("srt/server_args.py", ("hicache_size: int = 0", "hicache_size: int = 0  # in all"))
    result = run(operation, situation, "prove", "size")
    assert result.status == "done"
    assert digest(result) != plan.proofs["hicache_size"].tree_sha256


def test_a_meaning_that_is_patched_between_plan_and_run_is_refused(scene):
    operation = scene.operation("launch", profile=asking(48, None, None))
    _, situation = operation.prepare()
    scene.patch("srt/mem_cache/memory_pool_host.py", ("host_size * 1e9", "host_size * (1 << 30)"))
    result = run(operation, situation, "prove", "size")
    assert (result.status, result.guard) == ("refused", "proof")
    assert "hicache_size was GB per rank, and is GiB per rank now" in result.why


def digest(result) -> str:
    lines = (Path(result.evidence) / "journal.jsonl").read_text().splitlines()
    [written] = [event for event in map(json.loads, lines) if event["event"] == "proofs"]
    return str(written["flags"]["hicache_size"]["tree_sha256"])


WHOLE = (launcher(), *(rank(number) for number in range(8)), detokenizer())
SERVING = {LISTENERS: (listener(4121),), HOLDERS: holders(*range(4130, 4138))}


def asked(scene: Scene) -> list[str]:
    return [command.argv[3] for command in scene.node.ran]


def test_a_service_that_is_well_needs_no_proof_and_no_further_question(scene):
    body = json.dumps({"text": " yes", "meta_info": {"completion_tokens": 4}}).encode()
    scene.node.answer = Answer(200, body)
    plan, _ = scene.operation("recover", *WHOLE, facts=SERVING).prepare()
    assert plan.healthy
    assert asked(scene) == ["fleetops-lock-read"]  # whether a run was interrupted
    assert plan.proofs == {}


def test_another_machine_that_serves_is_not_the_node_being_well(scene):
    scene.node.answer = Answer(
        200, json.dumps({"text": " yes", "meta_info": {"completion_tokens": 4}}).encode()
    )
    operation = scene.operation("recover", *WHOLE, facts=SERVING)
    operation.seen = replace(operation.seen, node=replace(NODE, machine_id="0bad"))
    plan, _ = operation.prepare()
    assert not plan.healthy
    assert plan.first_obstacle.guard == "identity"


def unprovable(scene: Scene) -> None:
    scene.patch("srt/mem_cache/hiradix_cache.py", ("MHATokenToKVPoolHost(", "globals()[server_args.kind]("))


def test_what_cannot_be_proven_does_not_keep_a_wedged_node_from_being_cleaned(scene):
    unprovable(scene)
    plan, _ = scene.operation("recover", *incident()).prepare()
    assert "not proven" in blocked(plan)
    assert plan.first_obstacle is None


def test_on_a_clean_node_it_is_refused_at_once(scene):
    unprovable(scene)
    plan, _ = scene.operation("recover").prepare()
    assert plan.first_obstacle.guard == "proof"


def test_a_recovery_that_relaunches_nothing_proves_nothing(scene):
    from fleetops.playbook.load import without_relaunch

    operation = scene.operation("recover", *incident())
    operation.book = without_relaunch(operation.book)
    plan, _ = operation.prepare()
    assert plan.proofs == {}
    assert asked(scene) == ["fleetops-lock-read"]  # whether a run was interrupted


def test_a_source_that_cannot_be_read_is_unproven_with_the_reason_and_no_error(scene):
    operation = scene.operation("launch")
    operation.seen = observe(
        profile=operation.profile,
        facts={ENGINE_SOURCE: EngineSource(engine="sglang", version="", folder="/nowhere")},
    )
    operation.profile = replace(operation.profile, command=("wrapper",))
    operation.seen = replace(operation.seen, profile=operation.profile)
    plan, _ = operation.prepare()
    assert "/nowhere" in blocked(plan)


def test_waived_a_launch_goes_on_with_what_the_profile_states(scene):
    unprovable(scene)
    operation = scene.operation("launch", waived={"proof": "read by hand"})
    plan, situation = operation.prepare()
    assert plan.waived == {"proof": "read by hand"}
    assert plan.first_obstacle is None
    assert run(operation, situation, "prove", "size").waived == {"proof": "read by hand"}


def test_what_the_last_launch_of_the_profile_could_hold_is_known_and_another_profiles_is_not(scene):
    operation = scene.operation("launch")
    for at, name in enumerate(("hicache48", "other")):
        capacity = Capacity(device_tokens=231_120)
        operation.store.record_launch(
            LaunchRecord(node="node-174", profile=name, at=at, run_id=name, capacity=capacity)
        )
        _, situation = operation.prepare()
        assert situation.device_tokens == (231_120 if name == "hicache48" else None)
