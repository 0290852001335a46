"""A real vLLM server on a lab node: launched, measured, killed so that its workers are orphaned, and recovered.

The node's memory figures are the lab's, so what the server really takes is read from its processes.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from command_line import CommandLine
from fresh_lab import fresh_lab
from vllm_site import VERSION, available_bytes, provide

from fleetops.fleet.observe import observe
from fleetops.inventory.load import load_inventory
from fleetops.lab.api import Lab
from fleetops.lab.paths import Layout
from fleetops.model.command import Command
from fleetops.model.engine import Service
from fleetops.model.fleet import Inventory
from fleetops.ssh.connections import Connections

pytestmark = [pytest.mark.live, pytest.mark.lab, pytest.mark.timeout(3600)]

NODE, PROFILE, PORT = "node-190", "vllm-live", 8100
PLACE = "/opt/fleetops-lab/share/live"
# 1 GiB of KV cache at 512 bytes a token.
TOKENS = 2_097_152
_PROFILE = f"""
  {PROFILE}:
    engine: vllm
    model: {PLACE}/tiny-llama
    ranks: 1
    port: {PORT}
    command: [{PLACE}/venv/bin/python]
    environment: {{VLLM_CPU_KVCACHE_SPACE: "1", VLLM_HOST_IP: 127.0.0.1, VLLM_NO_USAGE_STATS: "1", HF_HUB_OFFLINE: "1"}}
    flags: {{host: 127.0.0.1, max-model-len: 512, max-num-seqs: 8, enforce-eager: true}}
    host-memory: {{reserve: 8 GB, floor: 4 GB}}
    ready-deadline: 10m
    watch: 5s
"""


_SGLANG = "engine: sglang\n    source: /root/sglang/python/sglang\n    profile: small\n"
_VLLM = f"engine: vllm\n    profile: {PROFILE}\n"


@dataclass
class Live:
    """The node, and what is asked of it."""

    lab: Lab
    inventory: Inventory
    connections: Connections
    fleetops: CommandLine

    def run(self, *argv: str) -> str:
        outcome = self.connections.session(self.inventory.nodes[NODE]).run(Command(argv=argv))
        assert outcome.ok, outcome
        return outcome.stdout

    def services(self) -> tuple[Service, ...]:
        return observe(self.connections, self.inventory, self.inventory.nodes[NODE]).services

    def do(self, *words: str) -> dict[str, Any]:
        """A command that changes the node; its answer. It is said how long it took."""
        begun = time.monotonic()
        ran = self.fleetops(*words, "--yes", "--json", timeout=1500)
        assert ran.status == 0, ran
        say(f"{' '.join(words)}: {time.monotonic() - begun:.0f} s")
        answer: dict[str, Any] = ran.json
        return answer


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    """The lab with the environment on its nodes, and vLLM as what belongs on node-190."""
    site = provide()
    with fresh_lab(tmp_path / "lab") as lab:
        site.show_in(Layout(lab.folder).share)
        with (lab.inventory / "profiles.yaml").open("a") as profiles:
            profiles.write(_PROFILE)
        fleet = lab.inventory / "fleet.yaml"
        head, _, own = fleet.read_text().partition(f"  {NODE}:\n")
        assert _SGLANG in own
        fleet.write_text(f"{head}  {NODE}:\n{own.replace(_SGLANG, _VLLM, 1)}")
        inventory = load_inventory(lab.inventory)
        with Connections(inventory.settings, environ={}) as connections:
            yield Live(lab, inventory, connections, CommandLine(lab.inventory, tmp_path))


def say(text: str) -> None:
    print(f"live: {text}", flush=True)


def told(service: Service) -> str:
    held = sum(process.rss_bytes for process in service.processes)
    return f"{len(service.processes)} processes, {held / 1e9:.2f} GB resident: " + ", ".join(
        f"{process.pid} {process.comm}" for process in service.processes
    )


def test_a_real_server_is_launched_measured_orphaned_and_recovered(live):
    say(f"vLLM {VERSION} on {live.lab.folder}, {available_bytes() / 1e9:.1f} GB available on this machine")
    launch = live.do("launch", "--profile", PROFILE, NODE)["launched"]["capacity"]
    say(
        f"ready in {launch['ready_s']:.1f} s, {launch['device_tokens']:,} tokens of KV cache, {launch['tokens_per_s']:.0f} tokens/s"
    )
    assert launch["device_tokens"] == TOKENS
    [service] = live.services()
    say(told(service))
    assert (service.engine, service.port, len(service.ranks)) == ("vllm", PORT, 1)
    assert {"VLLM::EngineCor", "VLLM::Worker"} <= {process.comm for process in service.processes}

    load = ("--requests", "16", "--concurrency", "4", "--prompt-tokens", "64", "--output-tokens", "32")
    measured = live.fleetops("measure", NODE, *load, "--json", timeout=600)
    assert measured.status == 0, measured
    say(
        f"measured: {json.dumps({name: measured.json[name] for name in ('completed', 'output_tokens_per_s', 'ttft_s', 'itl_s')})}"
    )
    assert (measured.json["completed"], measured.json["version"] or VERSION) == (16, VERSION)

    live.run("kill", "-KILL", str(service.launcher.pid))
    time.sleep(2)
    [left] = live.services()
    say(f"orphaned: {told(left)}")
    assert left.launcher is None
    assert {process.pid for process in left.processes} == {process.pid for process in service.processes[1:]}
    segments = live.run("ls", "-l", "/dev/shm")
    say(f"shared memory of the orphans:\n{segments}")

    recovered = live.do("recover", NODE)
    say(
        "\n".join(
            f"{row['name']}: {row['before']} -> {row['after']}, idle {row['idle']}"
            for row in recovered["reclaimed"]
        )
    )
    assert all(row["ok"] for row in recovered["reclaimed"])
    again = recovered["launched"]["capacity"]
    say(
        f"ready again in {again['ready_s']:.1f} s, {again['device_tokens']:,} tokens, {again['tokens_per_s']:.0f} tokens/s"
    )
    [service] = live.services()
    say(told(service))
    assert again["device_tokens"] == TOKENS

    live.do("kill", NODE)
    assert live.services() == ()
    assert "psm_" not in live.run("ls", "/dev/shm")
