"""Probing nodes: everything about each, judged and added up; one node's silence costs only itself."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from fleetops.checks import judge
from fleetops.engines import engine
from fleetops.engines.condition import is_wedged
from fleetops.fleet.launched import Launches, launched_last, relaunching
from fleetops.fleet.observe import observe
from fleetops.fleet.read import Sessions
from fleetops.fleet.summary import port_use, summarise
from fleetops.model.errors import FleetopsError
from fleetops.model.exit import Exit, worst
from fleetops.model.finding import Baseline, Observation, Severity
from fleetops.model.fleet import Inventory, Node
from fleetops.model.machine import IDENTITY
from fleetops.model.report import PortUse, Report
from fleetops.model.session import Session
from fleetops.playbook.guards import refusal
from fleetops.ssh.fanout import fan_out

_READY_DEADLINE_S = 5.0
_OK = 200
# This release lacks the path; with an API key, SGLang says so only to who has the key.
_NOT_THERE = {401, 403, 404}


class Memory(Launches, Protocol):
    """What was recorded of nodes before; `store.database.Store` is one."""

    def baseline(self, node: str) -> Baseline | None:
        """How the idle node looked."""

    def baselines(self) -> Mapping[str, Baseline]:
        """The same of every node, by name."""

    def machine_id(self, name: str) -> str:
        """Its machine-id, "" where none was recorded."""

    def record_machine_id(self, name: str, machine_id: str, at: float) -> None:
        """Remember it on first contact."""


def remember_identity(recorded: Memory, observation: Observation) -> None:
    """Of a node that is shown to be the one that is meant, so that it is known again when it says nothing."""
    identity = observation.node_facts.value(IDENTITY)
    if identity and identity.machine_id and not refusal("identity", observation):
        recorded.record_machine_id(observation.node.name, identity.machine_id, observation.node_facts.at)


def probe_nodes(
    sessions: Sessions, inventory: Inventory, nodes: Sequence[Node], recorded: Memory, *, pss: bool = True
) -> Iterator[Report]:
    """One report for each node, as they come in; a node that does not answer has one as well.

    `pss` reads the proportional share of each process (slower on a node with very many), else RSS stands for it.
    """

    def work(node: Node) -> Report:
        known = replace(node, machine_id=node.machine_id or recorded.machine_id(node.name))
        idle, peers = recorded.baseline(node.name), recorded.baselines()
        observation = observe(sessions, inventory, known, baseline=idle, peers=peers, pss=pss)
        remember_identity(recorded, observation)
        report = report_on(sessions, observation)
        if not (other := launched_last(recorded, inventory, node)):
            return report
        findings = [replace(one, next=relaunching(one.next, node, other)) for one in report.findings]
        return replace(report, findings=tuple(findings))

    for result in fan_out(nodes, work):
        if result.value is not None:
            yield result.value
        else:
            error = result.error or FleetopsError(f"{result.item.name} gave no answer")
            yield Report(node=result.item, error=error.message, hint=error.hint)


def report_on(sessions: Sessions, observation: Observation) -> Report:
    """Ask the service's readiness endpoint where its port listens; judge, and add up."""
    quiet = observation.silence
    outside = observation.hypervisor_facts.silence if observation.hypervisor_facts else None
    hints = [gap.hint for gap in (quiet, outside) if gap and gap.hint]
    return Report(
        node=observation.node,
        observation=observation,
        summary=summarise(observation, ask_port(sessions, observation)),
        findings=judge(observation),
        engine_title=engine(_running(observation)).title,
        error=quiet.why if quiet else "",
        hint=hints[0] if hints else "",
    )


def _running(observation: Observation) -> str:
    """The engine that runs there, else the one that the inventory names."""
    return observation.services[0].engine if observation.services else observation.node.engine


def ask_port(sessions: Sessions, observation: Observation) -> PortUse | None:
    """The service's port, with what its readiness endpoint answers where it listens.

    A service that is dead in part is not asked: its answer would prove nothing, and mostly it never comes.
    """
    use, services = port_use(observation), observation.services
    if use is None or not use.listens or not services or any(is_wedged(service) for service in services):
        return use
    session = sessions.session(observation.node)
    for path in engine(services[0].engine).ready_paths:
        asked = _ask(session, use, path)
        if asked is not None:
            return asked
    return use


def _ask(session: Session, use: PortUse, path: str) -> PortUse | None:
    """What `path` answers; None where this release does not have it."""
    started = time.monotonic()
    try:
        answer = session.request(use.port, "GET", path, deadline_s=_READY_DEADLINE_S)
    except TimeoutError:
        return replace(use, silent=True, answer=f"{path}: no answer in {_READY_DEADLINE_S:g} s")
    except OSError as error:
        return replace(use, answers=False, answer=str(error.strerror or error))
    except FleetopsError as error:
        return replace(use, answer=f"{path} could not be asked: {error.message}")
    if answer.status in _NOT_THERE:
        return None
    said = f"{path} says {answer.status} in {time.monotonic() - started:.1f} s"
    return replace(use, answers=answer.status == _OK, answer=said)


def exit_code(reports: Sequence[Report]) -> Exit:
    """3 where something is unknown or out of reach, 1 where there are findings, else 0."""
    return worst(code for report in reports for code in _codes(report))


def _codes(report: Report) -> Iterator[Exit]:
    if report.observation is None or report.error:
        yield Exit.UNKNOWN
    for finding in report.findings:
        yield Exit.UNKNOWN if finding.severity is Severity.UNKNOWN else Exit.FINDINGS
