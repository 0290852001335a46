"""A desk for steps that look after a service on this very machine: real commands, real HTTP, real processes."""

import time
from typing import Any

from local_session import LocalSession

from fleetops.facts import processes
from fleetops.fleet.read import read_facts
from fleetops.model.finding import Observation
from fleetops.model.fleet import Inventory, Node, Profile
from fleetops.model.record import Capacity, LaunchRecord
from fleetops.ssh import http
from fleetops.steps.support.base import Situation

NODE = Node(name="node-174", address="127.0.0.1")


class StepDesk:
    """Keeps what it was told; its facts are this machine's processes."""

    def __init__(self, profile: Profile, previous: LaunchRecord | None = None) -> None:
        self.session_ = LocalSession()
        self.profile = profile
        self.previous = previous
        self.memo: dict[str, Any] = {}
        self.told: list[tuple[float, str]] = []
        self.recorded: list[Capacity] = []
        self.situation = self.look()

    def session(self, host) -> LocalSession:
        return self.session_

    def look(self) -> Situation:
        facts = read_facts(self, NODE, [processes.FACT])
        observation = Observation(node=NODE, node_facts=facts, profile=self.profile)
        self.situation = Situation(
            inventory=Inventory(path=".", nodes={NODE.name: NODE}),
            observation=observation,
            findings=(),
            before=observation,
            run_id="r",
        )
        return self.situation

    def ask(self, host, command):
        return self.session_.run(command)

    def restore(self, action):
        return self.session_.run(action.command)

    def request(self, method, path, body, *, port, deadline_s):
        with self.stream(method, path, body, port=port, headers={}, deadline_s=deadline_s) as answer:
            return http.whole(answer)

    def stream(self, method, path, body, *, port, headers, deadline_s):
        return self.session_.stream(port, method, path, body, headers=headers, deadline_s=deadline_s)

    def tell(self, text: str) -> None:
        self.told.append((self.now(), text))

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)

    def now(self) -> float:
        return time.monotonic()

    def previous_launch(self) -> LaunchRecord | None:
        return self.previous

    def record_launch(self, capacity: Capacity) -> None:
        self.recorded.append(capacity)
