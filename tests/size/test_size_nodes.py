"""size on a node: this machine's shell answers for it, its facts are the incident's, its source is a small tree."""

import json
import shutil
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from local_session import LocalSession
from node_scenes import NODE, incident, observe
from proof_scenes import asking
from sizing_cases import model

from fleetops.fleet.size import exit_code, size_nodes
from fleetops.fleet.size_given import Given
from fleetops.model.engine import ENGINE_SOURCE, EngineSource
from fleetops.model.errors import Unreachable
from fleetops.model.exit import Exit
from fleetops.model.fact import Gap, Missing
from fleetops.model.fleet import Flag, Inventory
from fleetops.model.machine import MEMORY
from fleetops.model.record import Capacity, LaunchRecord
from fleetops.store.database import Store
from fleetops.store.proofs import Proofs

STAND_IN = Path(__file__).parents[2] / "fleetops" / "lab" / "standin"


@dataclass
class Scene:
    """One node with a source tree, models and records of its own."""

    folder: Path
    session_: LocalSession = field(default_factory=LocalSession)
    silent: bool = False

    def session(self, host):
        if self.silent:
            raise Unreachable(f"{host.name}: connection refused", host=host.name, hint="fleetops probe")
        return self.session_

    @property
    def profile(self):
        return asking(
            300,
            command=(sys.executable,),
            environment={"PYTHONPATH": str(self.folder)},
            model=str(self.folder / "example"),
        )

    @property
    def store(self):
        return Store(self.folder)

    def size(self, profile=None, *, named=True, **given):
        wanted = profile or self.profile
        inventory = Inventory(
            path=self.folder,
            nodes={"node-174": replace(NODE, profile=wanted.name)},
            profiles={wanted.name: wanted},
        )
        (found,) = size_nodes(
            self,
            inventory,
            list(inventory.nodes.values()),
            wanted if named else None,
            Given(**given),
            records=self.store,
            proofs=Proofs(None),
        )
        return found

    def write_model(self, name, config):
        (self.folder / name).mkdir(exist_ok=True)
        (self.folder / name / "config.json").write_text(json.dumps(config))


@pytest.fixture
def scene(tmp_path, mocker):
    for source in STAND_IN.rglob("*.txt"):
        place = tmp_path / source.relative_to(STAND_IN).with_suffix("")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place)
    made = Scene(tmp_path)
    made.write_model("example", model("deepseek-v3"))
    look(made, mocker)
    return made


def look(scene, mocker, *processes, **facts):
    """What the node's facts are from now on."""
    source = EngineSource(engine="sglang", version="0.5.9", folder=str(scene.folder / "sglang"))
    found = {ENGINE_SOURCE: source, **facts.pop("facts", {})}
    mocker.patch(
        "fleetops.fleet.size.observe",
        side_effect=lambda *_, profile, **__: observe(*processes, profile=profile, facts=found),
    )


def test_source_model_and_memory_are_read_on_the_node(scene):
    found = scene.size()
    assert (found.verdict, found.size.fits, found.asked) == ("does-not-fit", 48, 300)
    assert found.size.meaning.why.startswith("proven: srt/mem_cache/memory_pool_host.py:")
    assert (found.host, found.version, found.kv.bytes_per_token) == ("node-174", "0.5.9", 70272)
    assert found.next == f"fleetops size --profile {scene.profile.name} --set hicache_size=48 node-174"
    assert "MemAvailable of pve-01" in [room.label for room in found.budget.rooms]


def test_without_a_profile_each_node_has_its_own(scene):
    assert scene.size(named=False).profile == scene.profile.name


def test_a_number_that_was_set_has_to_go_into_the_profile_first(scene):
    found = scene.size(settings={"hicache_size": 48})
    assert found.verdict == "fits"
    assert found.next == f"set it to 48 in profile {scene.profile.name}, then fleetops launch --profile {scene.profile.name} node-174"  # fmt: skip


@pytest.mark.parametrize(("profile", "above"), [("", 8.16), ("another", None)])
def test_device_tokens_come_from_the_last_launch_of_the_same_profile(scene, profile, above):
    name = profile or scene.profile.name
    scene.store.record_launch(
        LaunchRecord(
            node="node-174", profile=name, at=1.0, run_id="r", capacity=Capacity(device_tokens=116171)
        )
    )
    window = scene.size().window
    assert window.above == (pytest.approx(above, abs=0.01) if above else None)
    assert window.missing == ("" if above else "device tokens")


def test_a_wedged_node_is_sized_as_it_will_be_when_clean(scene, mocker):
    look(scene, mocker, *incident())
    found = scene.size()
    assert found.budget.rooms[0].label == "MemAvailable of node-174 when idle"
    assert found.size.fits == 48


def test_a_source_that_cannot_be_followed_is_unproven_and_explained_next(scene):
    pool = scene.folder / "sglang/srt/mem_cache/memory_pool_host.py"
    pool.write_text(pool.read_text().replace("class HostKVCache:", "class HostKVCache(:"))
    found = scene.size()
    assert (found.verdict, found.exit_code) == ("unproven", Exit.UNKNOWN)
    assert found.next == "fleetops explain hicache_size node-174"
    assert not found.size.meaning.proven


def test_a_source_that_was_named_wins_over_the_nodes(scene):
    def explain(flag):
        from sizing_cases import proof

        return proof(flag, "0.5.23", scope="total")

    found = scene.size(explain=explain, settings={"hicache_size": 300})
    assert (found.size.total_bytes, found.version) == (300 * 10**9, "0.5.23")


def test_a_profile_that_contradicts_the_source_is_not_launched_next(scene):
    flags = (replace(scene.profile.flag("hicache_size"), value=48, scope="total"),)
    found = scene.size(replace(scene.profile, flags=flags))
    assert found.verdict == "fits"
    assert found.next == "fleetops explain hicache_size node-174"


def test_a_draft_models_config_is_read_beside_the_models(scene):
    scene.write_model("draft", model("llama-3.1-8b", num_hidden_layers=1))
    asked = scene.profile
    more = (
        Flag(name="speculative_algorithm", value="EAGLE3"),
        Flag(name="speculative_draft_model_path", value=str(scene.folder / "draft")),
    )

    def explain(flag):
        from sizing_cases import proof

        return proof(flag, "0.5.11")

    found = scene.size(replace(asked, flags=(*asked.flags, *more)), explain=explain)
    assert [line.label.split()[0] for line in found.budget.beside] == ["draft"]
    assert found.verdict == "does-not-fit"


def test_a_model_that_lies_elsewhere_is_no_obstacle_to_the_verdict(scene):
    found = scene.size(replace(scene.profile, model="somebody/elsewhere"))
    assert (found.verdict, found.kv, found.size.fits) == ("does-not-fit", None, 48)


def test_what_is_available_can_be_said_instead(scene):
    found = scene.size(available_bytes=900 * 10**9)
    assert [room.label for room in found.budget.rooms] == ["available, as given"]
    assert found.size.fits == 105


def test_memory_that_could_not_be_read_leaves_it_open(scene, mocker):
    look(scene, mocker, facts={MEMORY: Missing(Gap.TIMED_OUT, "no answer in 10 s")})
    found = scene.size(settings={"hicache_size": 4})
    assert (found.verdict, found.window.up_to) == ("unproven", None)
    assert "MemAvailable of node-174" in found.reasons[0]


def test_a_node_that_does_not_answer_says_why(scene, mocker):
    scene.silent = True
    mocker.stopall()
    found = scene.size()
    assert found.budget is None
    assert "connection refused" in found.error
    assert exit_code([found]) == Exit.UNKNOWN


def test_ranks_and_heads_follow_the_profiles_parallel_sizes(scene):
    asked = scene.profile
    both = replace(asked, flags=(*asked.flags, Flag(name="pp_size", value=2)))
    found = scene.size(both)
    assert (found.budget.ranks, found.kv.layers) == (16, 31)
    assert scene.size(both, ranks=8).budget.ranks == 8
