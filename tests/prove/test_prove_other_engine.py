"""A number is never carried from one engine to another: vLLM's source is read for vLLM's flag, whatever the profile says."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from local_session import LocalSession
from node_scenes import NODE, profile
from proof_scenes import launching

from fleetops.fleet.prove import explain_with, prove
from fleetops.model.fleet import Flag
from fleetops.playbook.load import shipped_playbook
from fleetops.playbook.plan import make_plan
from fleetops.steps import all_steps
from fleetops.steps.support.base import Situation
from fleetops.store.proofs import Proofs

CONFIG = """\
from dataclasses import dataclass


@dataclass
class CacheConfig:
    kv_offloading_size: float | None = None


@dataclass
class ParallelConfig:
    world_size: int = 1


@dataclass
class VllmConfig:
    cache_config: CacheConfig
    parallel_config: ParallelConfig
"""
WORKER = """\
import torch
from vllm.config import VllmConfig


class Worker:
    def __init__(self, vllm_config: VllmConfig):
        self.vllm_config = vllm_config

    def initialize(self):
        size = self.vllm_config.cache_config.kv_offloading_size
        share = int(size * (1 << 30)) // self.vllm_config.parallel_config.world_size
        self.host_pool = torch.empty(share, dtype=torch.uint8, pin_memory=True)


def run_worker(vllm_config: VllmConfig):
    worker = Worker(vllm_config)
    worker.initialize()
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with a package vllm in which each worker takes its share of one size."""
    package = tmp_path / "site" / "vllm"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "version.py").write_text('__version__ = "0.20.0"\n')
    (package / "config.py").write_text(CONFIG)
    (package / "worker.py").write_text(WORKER)
    return package.parent


def proven_on(site: Path, unit: str, scope: str) -> Situation:
    flags = (Flag(name="kv_offloading_size", value=48, unit=unit, scope=scope),)
    asked = profile(
        name="offload",
        engine="vllm",
        command=(sys.executable,),
        environment={"PYTHONPATH": str(site)},
        flags=flags,
    )
    session = LocalSession()
    node = replace(NODE, engine="vllm")
    return prove(launching(asked, node=node), session.run, explain_with(Proofs(None)))


def planned(situation: Situation):
    step = all_steps()["prove"]
    return step.plan(situation, step.settle({}))


def test_sglangs_meaning_carried_to_vllm_is_refused_with_both(site):
    step = planned(proven_on(site, "GB", "per-rank"))
    assert step.guard == "proof"
    assert "profile offload says GB per rank" in step.blocked
    assert "vLLM 0.20.0 on node-174 says GiB total" in step.blocked
    assert "int(size * (1 << 30)) // self.vllm_config.parallel_config.world_size" in step.blocked
    assert "{value: ..., unit: GiB, scope: total}" in step.mend


def test_vllms_own_meaning_is_proven(site):
    step = planned(proven_on(site, "GiB", "total"))
    assert step.blocked == ""
    assert step.detail == "kv_offloading_size: GiB total, proven"


def test_a_launch_is_planned_with_vllms_own_command_line_and_its_total_once(site):
    plan = make_plan(shipped_playbook("launch"), proven_on(site, "GiB", "total"))
    told = {step.step: step.detail for step in plan.steps}
    assert "48 GiB = 51.5 GB asked" in told["size"], "not eight times"
    assert "kv_offloading_size has been seen to take 1.92 times as much" in told["size"]
    command = "-m vllm.entrypoints.cli.main serve /models/example --tensor-parallel-size 8 --port 30000"
    assert f"{command} --kv-offloading-size 48" in told["start-service"]


def test_a_launch_of_an_engine_that_nothing_is_known_of_ends_at_its_plan_with_the_reason(site):
    situation = proven_on(site, "GiB", "total")
    other = replace(situation.observation, profile=profile(name="other", engine="tensorrt-llm", flags=()))
    plan = make_plan(shipped_playbook("launch"), replace(situation, observation=other))
    assert plan.first_obstacle.guard == "engine"
    assert "which fleetops does not launch yet" in plan.first_obstacle.blocked


def test_the_contradiction_is_what_ends_it_first(site):
    plan = make_plan(shipped_playbook("launch"), proven_on(site, "GB", "per-rank"))
    assert plan.first_obstacle.guard == "proof"
