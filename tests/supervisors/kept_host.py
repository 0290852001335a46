"""A real host with a real supervisor: an engine of three processes on it, and a desk for the steps that act there."""

import time
from typing import Any

from local_session import LocalSession
from node_scenes import memory

from fleetops.engines.attribution import attribute
from fleetops.facts import engine_source, processes, service_records, supervisors
from fleetops.fleet.observe import find_services
from fleetops.fleet.read import read_facts
from fleetops.model.command import Command, Outcome, shell
from fleetops.model.fact import Facts
from fleetops.model.finding import Observation
from fleetops.model.fleet import Flag, Inventory, Node, Profile
from fleetops.model.gpu import GPUS, Gpus
from fleetops.model.machine import HOLDERS, LISTENERS, MEMORY, SEGMENTS
from fleetops.steps.stop_service import STEP as STOP
from fleetops.steps.support.base import Situation

FOLDER = "/opt/engine"
PORT = 30000
# A launcher and two ranks by the names that the kernel keeps; with STUBBORN the ranks ignore SIGTERM.
ENGINE = """
import ctypes, os, signal, sys, time
print("started with", *sys.argv[1:], flush=True)
for _ in range(2):
    if os.fork() == 0:
        if os.environ.get("STUBBORN"):
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        ctypes.CDLL(None).prctl(15, b"sglang::schedul")  # last: who is seen by this name is as it will be
        time.sleep(1000)
os.wait()
"""
ARGUMENTS = ("--model-path", "/models/example", "--tp", "2", "--port", str(PORT), "--hicache-size", "48")
COMMAND = ("/usr/bin/python3", "-m", "sglang.launch_server", *ARGUMENTS)
PROFILE = Profile(
    name="small",
    engine="sglang",
    model="/models/example",
    ranks=2,
    port=PORT,
    environment={"PYTHONPATH": FOLDER},
    flags=(Flag(name="hicache_size", value=48, unit="GB", scope="per-rank"),),
    watch_s=1,
)
NODE = Node(name="node-174", address="127.0.0.1", profile="small")
_PATIENCE_S = 60.0


class KeptHost:
    """The host, its facts, and whoever the steps need."""

    def __init__(self, session: LocalSession) -> None:
        self.session_ = session
        self.told: list[str] = []
        self.memo: dict[str, Any] = {}
        self.before: Observation | None = None
        self.situation = self.look()
        self.run(shell(f"mkdir -p {FOLDER}/sglang; cat > {FOLDER}/sglang/launch_server.py", stdin=ENGINE))
        self.run(
            shell(
                f": > {FOLDER}/sglang/__init__.py; echo '__version__ = \"0.5.9\"' > {FOLDER}/sglang/version.py"
            )
        )

    def run(self, command: Command) -> Outcome:
        outcome = self.session_.run(command)
        assert outcome.ok, outcome
        return outcome

    def session(self, host: object) -> LocalSession:
        return self.session_

    def observe(self) -> Observation:
        wanted = [processes.FACT, service_records.FACT, supervisors.FACT, engine_source.fact("sglang", "")]
        read = read_facts(self, NODE, wanted)
        given = {
            HOLDERS: (),
            LISTENERS: (),
            SEGMENTS: (),
            GPUS: Gpus(driver_version="1", gpus=()),
            MEMORY: memory(),
        }
        facts = Facts(read.host, read.at, {**read.readings, **{key.name: one for key, one in given.items()}})
        return Observation(node=NODE, node_facts=facts, profile=PROFILE, services=find_services(facts))

    def begin(self) -> Situation:
        """As a run begins: what is there now is what it is about."""
        self.before = None
        return self.look()

    def look(self) -> Situation:
        now = self.observe()
        self.before = self.before or now
        self.situation = Situation(
            inventory=Inventory(path=".", nodes={NODE.name: NODE}),
            observation=now,
            findings=(),
            before=self.before,
            run_id="r1",
        )
        return self.situation

    def ask(self, host: str, command: Command) -> Outcome:
        return self.session_.run(command)

    def change(self, action: Any) -> Outcome:
        return self.session_.run(action.command)

    restore = change

    def tell(self, text: str) -> None:
        self.told.append(text)

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def now(self) -> float:
        return time.monotonic()

    def await_service(self, *, other_than: int = 0) -> int:
        """The launcher's pid, once its two ranks are there."""
        deadline = time.monotonic() + _PATIENCE_S
        while True:
            for service in self.observe().services:
                if service.launcher and len(service.ranks) == 2 and service.launcher.pid != other_than:
                    return service.launcher.pid
            assert time.monotonic() < deadline, self.session_.run(shell("ps -ef")).stdout
            time.sleep(0.1)

    def stop(self, grace_s: float = 2) -> str:
        self.begin()
        return STOP.run(self, STOP.settle({"grace": grace_s, "broken-grace": grace_s}))

    def is_down(self) -> bool:
        return not attribute(self.observe()).living
