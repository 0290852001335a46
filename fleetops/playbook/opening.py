"""What a run writes down when it begins: what was found, how the node was, what was planned, and what is at work."""

from dataclasses import asdict
from typing import Any

from fleetops import __version__
from fleetops.model.engine import ENGINE_SOURCE
from fleetops.model.finding import Finding, Observation
from fleetops.model.gpu import GPUS
from fleetops.model.plan import PlannedStep
from fleetops.model.secrets import masked
from fleetops.playbook.book import Playbook
from fleetops.playbook.lock import Owner
from fleetops.playbook.plan import make_plan
from fleetops.steps.support.base import Situation
from fleetops.steps.support.proof import title_of
from fleetops.steps.support.reclaim import reclaim_rows


def opening(book: Playbook, situation: Situation, owner: Owner) -> dict[str, Any]:
    """The fields of the `begin` event; secrets masked. Pure."""
    plan, chain = make_plan(book, situation), situation.continues
    body = {
        "playbook": book.name,
        "node": situation.node_name,
        "waived": dict(situation.waived),
        "by": asdict(owner),
        **({"continues": chain[0], "chain": list(chain)} if chain else {}),
        **_which(book),
        "profile": plan.profile,
        "versions": _versions(situation.observation),
        "findings": [_finding(one) for one in situation.findings],
        "facts": [asdict(row) for row in reclaim_rows(situation.before, situation.before)],
        "planned": [_planned(step) for step in plan.steps],
        "touches": plan.touches,
    }
    told: dict[str, Any] = masked(body)
    return told


def _which(book: Playbook) -> dict[str, str]:
    """Of an own playbook its file, of a part what is left out."""
    told = {"file": book.file, "left_out": book.left_out}
    return {name: value for name, value in told.items() if value}


def _versions(observation: Observation) -> dict[str, str]:
    facts, versions = observation.node_facts, {"fleetops": __version__}
    if (source := facts.value(ENGINE_SOURCE)) and source.version:
        versions[title_of(source.engine)] = source.version
    if gpus := facts.value(GPUS):
        versions["NVIDIA driver"] = gpus.driver_version
    return versions


def _finding(one: Finding) -> dict[str, str]:
    told = {"host": one.host, "check": one.check, "severity": one.severity.word}
    return told | {"subject": one.subject, "evidence": one.evidence, "next": one.next}


def _planned(step: PlannedStep) -> dict[str, str]:
    names = ("step", "title", "host", "detail", "condition", "skip")
    return {name: getattr(step, name) for name in names}
