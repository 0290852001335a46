"""Probing over sessions: what the port answers, and a node that says nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest

from fleetops.fleet.probe import ask_port, exit_code, probe_nodes, remember_identity
from fleetops.model.command import Command, Outcome
from fleetops.model.errors import ConnectionLost, Unreachable
from fleetops.model.exit import Exit
from fleetops.model.fact import Facts, Gap, Missing
from fleetops.model.finding import Baseline, Finding, Observation, Severity
from fleetops.model.fleet import Host, Inventory
from fleetops.model.record import LaunchRecord
from fleetops.model.report import Report, Verdict
from fleetops.model.session import Answer
from fleetops.render.probe import probe_json, probe_screen


@dataclass
class Door:
    """A session whose port answers as told, and whose commands all fail the same way."""

    answers: dict[str, Answer | Exception]
    asked: list[str] = field(default_factory=list)
    host: str = "node-174"

    def run(self, command: Command, on_output: Callable[[str], None] | None = None) -> Outcome:
        raise AssertionError("probe runs no single commands")

    def batch(self, commands: Sequence[Command]) -> list[Outcome]:
        raise Unreachable(
            "no answer from 10.1.230.174 in 5 s", hint="fleetops trust node-174", host=self.host
        )

    def request(
        self, port: int, method: str, path: str, body: bytes | None = None, *, deadline_s: float = 10.0
    ) -> Answer:
        self.asked.append(f"{method} {port} {path}")
        answer = self.answers.get(path, Answer(404, b""))
        if isinstance(answer, Exception):
            raise answer
        return answer


@dataclass
class Doors:
    door: Door

    def session(self, host: Host) -> Door:
        return self.door


class Nothing:
    def baseline(self, node: str) -> Baseline | None:
        return None

    def baselines(self) -> dict[str, Baseline]:
        return {}

    def record_machine_id(self, name: str, machine_id: str, at: float) -> None:
        raise AssertionError("nothing is known of this node")

    def machine_id(self, name: str) -> str:
        return ""

    def last_launch(self, node: str, *, other_than: str = "") -> LaunchRecord | None:
        return None


def everywhere(answer: Answer | Exception) -> Doors:
    return Doors(Door(dict.fromkeys(("/health", "/health_generate", "/ready"), answer)))


def test_a_service_that_answers(serving: Observation) -> None:
    port = ask_port(everywhere(Answer(200, b"")), serving)
    assert port is not None
    assert port.answers
    assert "says 200 in 0.0 s" in port.answer


def test_a_service_that_says_not_yet(serving: Observation) -> None:
    port = ask_port(everywhere(Answer(503, b"")), serving)
    assert port is not None
    assert (port.answers, port.silent) == (False, False)


@pytest.mark.parametrize(
    ("failure", "answers", "silent", "said"),
    [
        (TimeoutError("late"), None, True, "no answer in 5 s"),
        (ConnectionRefusedError(111, "Connection refused"), False, False, "Connection refused"),
        (ConnectionLost("the connection broke"), None, False, "could not be asked"),
    ],
)
def test_a_service_that_gives_no_answer(
    serving: Observation, failure: Exception, answers: bool | None, silent: bool, said: str
) -> None:
    port = ask_port(everywhere(failure), serving)
    assert port is not None
    assert (port.answers, port.silent) == (answers, silent)
    assert said in port.answer


def test_a_release_without_any_such_endpoint_proves_nothing(serving: Observation) -> None:
    doors = Doors(Door({}))
    port = ask_port(doors, serving)
    assert port is not None
    assert port.answers is None
    assert len(doors.door.asked) > 1


def test_a_port_that_does_not_listen_is_not_asked(idle: Observation) -> None:
    doors = everywhere(Answer(200, b""))
    ask_port(doors, idle)
    assert doors.door.asked == []


def test_a_service_that_is_dead_in_part_is_not_waited_for(wedged: Observation) -> None:
    doors = everywhere(Answer(200, b""))
    ask_port(doors, wedged)
    assert doors.door.asked == []


def test_a_node_that_does_not_answer_has_a_report(idle: Observation) -> None:
    inventory = Inventory(path=idle.node_facts.host, nodes={"node-174": idle.node})  # type: ignore[arg-type]
    (report,) = probe_nodes(Doors(Door({})), inventory, [idle.node], Nothing())
    assert report.summary.verdict is Verdict.UNKNOWN
    assert report.error == "no answer from 10.1.230.174 in 5 s"
    assert report.hint == "fleetops trust node-174"
    assert probe_screen([report], 100).plain.splitlines()[-1] == "  fleetops trust node-174"
    assert probe_json([report])["hosts"][0]["hint"] == "fleetops trust node-174"
    assert exit_code([report]) == Exit.UNKNOWN


def test_a_node_that_answered_in_part_is_not_silent() -> None:
    gone = Missing(Gap.UNREACHABLE, "no answer")
    assert Facts("node-174", 0.0, {"memory": gone, "gpus": gone}).silence == gone
    assert Facts("node-174", 0.0, {"memory": gone, "gpus": 8}).silence is None


def finding(severity: Severity) -> Finding:
    return Finding(host="node-174", check="c", severity=severity, subject="s", evidence="e")


@pytest.mark.parametrize(
    ("severities", "code"),
    [
        ([], Exit.FINE),
        ([Severity.WARNING], Exit.FINDINGS),
        ([Severity.CRITICAL], Exit.FINDINGS),
        ([Severity.UNKNOWN], Exit.UNKNOWN),
        ([Severity.CRITICAL, Severity.UNKNOWN], Exit.UNKNOWN),
    ],
)
def test_exit_codes(idle: Observation, severities: list[Severity], code: Exit) -> None:
    report = Report(node=idle.node, observation=idle, findings=tuple(map(finding, severities)))
    assert exit_code([report]) == code


class Remembers(Nothing):
    def __init__(self) -> None:
        self.ids: dict[str, str] = {}

    def record_machine_id(self, name: str, machine_id: str, at: float) -> None:
        self.ids[name] = machine_id


def test_a_node_that_is_shown_to_be_the_one_meant_is_known_again_by_its_machine_id(idle: Observation) -> None:
    """Once it is silent, its hypervisor's word is compared with this."""
    records = Remembers()
    proven = replace(idle, node=replace(idle.node, guest=None, hypervisor=""), hypervisor_facts=None)
    remember_identity(records, proven)
    assert records.ids == {"node-174": proven.node_facts.readings["identity"].machine_id}
    other = Remembers()
    remember_identity(other, replace(proven, node=replace(proven.node, machine_id="f00d")))
    assert other.ids == {}
