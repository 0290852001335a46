"""The lab that the matrix runs in: a node of two GPUs on each platform, and a neighbour that must not notice any of it."""

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from command_line import CommandLine, Ran

from fleetops.lab import api
from fleetops.lab.api import Lab
from fleetops.lab.breakages.base import PORT, BrokenNode
from fleetops.lab.control import run_in
from fleetops.lab.fleet import lab_host
from fleetops.lab.paths import Layout
from fleetops.lab.spec import SPEC
from fleetops.model.finding import Baseline
from fleetops.store.database import Store

NODES = {"lxc": "node-175", "vm": "node-181", "bare": "node-190"}
NEIGHBOUR = "node-174"
_IMPATIENT = Path(__file__).with_name("impatient.py")
_FAST = {"SGLANG_LAB_PACE": "0.1", "FLEETOPS_LAB_RECLAIM_S": "6"}
_ASK = f"""
import json, urllib.request
body = json.dumps({{"text": "hello", "sampling_params": {{"max_new_tokens": 5, "ignore_eos": True}}}}).encode()
asked = urllib.request.Request("http://127.0.0.1:{PORT}/generate", body, {{"Content-Type": "application/json"}})
print(json.load(urllib.request.urlopen(asked, timeout=20))["meta_info"]["completion_tokens"])
"""


class Impatient(CommandLine):
    """The command line with deadlines that a matrix can wait for."""

    def argv(self, *words: str) -> list[str]:
        """As `fleetops` would be called."""
        return [
            sys.executable,
            "-P",
            str(_IMPATIENT),
            words[0],
            "--inventory",
            str(self.inventory),
            *words[1:],
        ]


@dataclass(frozen=True)
class Bench:
    """A lab in which nodes are broken and recovered."""

    lab: Lab
    fleetops: CommandLine

    def node(self, name: str) -> BrokenNode:
        """A node, past SSH."""
        return BrokenNode(self.lab.folder, name)

    def break_node(self, name: str, kind: str) -> None:
        """As `fleetops lab break` does it."""
        api.break_node(self.lab.folder, name, kind)

    def probe(self, name: str) -> Ran:
        """What probe finds."""
        return self.fleetops("probe", name, "--json", timeout=200)

    def recover(self, name: str) -> Ran:
        """The recovery; that one node is recovered again and again is the matrix's own doing."""
        waived = "attempts=the matrix breaks the same node again and again"
        return self.fleetops("recover", name, "--yes", "--json", "--waive", waived, timeout=500)

    def generates(self, name: str) -> bool:
        """Whether the service there answers a generation whole."""
        done = run_in(self.lab.folder, name, ["python3", "-c", _ASK])
        return done.stdout.strip() == "5"

    def services(self, name: str) -> list[tuple[int, str]]:
        """Pids and names of the service's processes there."""
        return [(each.pid, each.comm) for each in self.node(name).look()]


@contextmanager
def bench(folder: Path, cwd: Path) -> Iterator[Bench]:
    """A lab of the matrix's own, its nodes idle and known, the neighbour at work. Gone afterwards.

    Raises LabUnavailable where this machine forbids it.
    """
    with _in_a_hurry():
        lab = api.up(folder, bound=True)
        try:
            hurry(lab)
            found = Bench(lab, Impatient(lab.inventory, cwd))
            arrange(found)
            yield found
        finally:
            api.down(folder)


@contextmanager
def _in_a_hurry() -> Iterator[None]:
    """The settings that breakages read from the caller's environment."""
    before = {name: os.environ.get(name) for name in _FAST}
    os.environ.update(_FAST)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def hurry(lab: Lab) -> None:
    """Profiles whose services start in a hurry and are watched for a second."""
    path = lab.inventory / "profiles.yaml"
    fast = 'watch: 1s\n    environment: {SGLANG_LAB_PACE: "0.1"}'
    path.write_text(path.read_text().replace("watch: 2s", fast))


def arrange(bench: Bench) -> None:
    """The nodes idle, as they were when somebody last recorded it; the neighbour serves."""
    for name in NODES.values():
        bench.node(name).clear()
        remember_idle(bench.lab, name)
    starts_nothing_by_itself(bench.lab, NODES["lxc"])
    started = bench.fleetops("launch", "--profile", "small", NEIGHBOUR, "--yes", "--json")
    if started.status:
        raise RuntimeError(f"the neighbour does not come up: {started}")


def remember_idle(lab: Lab, name: str) -> None:
    """Record the idle state of a node, as an earlier launch by fleetops would have."""
    baseline = Baseline(available_bytes=lab_host(name).idle_bytes, source="recorded when it was set up")
    Store(Layout(lab.folder).state).record_baseline(name, time.time(), baseline)


def starts_nothing_by_itself(lab: Lab, name: str) -> None:
    """The lab's neighbour node starts a service when it boots; here it is the one that is broken."""
    host = lab_host(name)
    path = Layout(lab.folder).run(name, host.hypervisor, host.guest_id) / SPEC
    path.write_text(json.dumps({**json.loads(path.read_text()), "service": ""}))
