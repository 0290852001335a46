"""Findings: what checks conclude from facts."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from fleetops.model.engine import Service
from fleetops.model.errors import Silence
from fleetops.model.fact import Facts, Missing
from fleetops.model.fleet import Hypervisor, Node, Profile
from fleetops.model.guest import GUEST
from fleetops.model.machine import SSH_ANSWER, Memory, PortAnswer
from fleetops.model.past import Past
from fleetops.model.record import LaunchRecord
from fleetops.model.sight import HypervisorSight
from fleetops.model.thresholds import Thresholds

# Two machines of one model differ by what their firmware keeps.
_SAME_TOTAL = 0.01


class Severity(IntEnum):
    """How bad; `UNKNOWN` is its own thing and never healthy."""

    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3

    @property
    def word(self) -> str:
        """As it is printed."""
        return self.name.lower()


WORST_FIRST = (Severity.CRITICAL, Severity.UNKNOWN, Severity.WARNING, Severity.OK)
"""What is unknown may be anything, a warning is known to be less than critical."""


def worst_of(severities: Iterable[Severity]) -> Severity:
    """The worst of them; OK where there are none."""
    return min(severities, key=WORST_FIRST.index, default=Severity.OK)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One conclusion.

    Attributes:
        check: the name of the check that drew it; playbooks name it in `when`.
        subject: what it is about, in few words (`ranks dead`).
        evidence: the facts that show it, for a person.
        next: the command to type next, "" where there is none; where only a person can go on, what he does first.
    """

    host: str
    check: str
    severity: Severity
    subject: str
    evidence: str
    next: str = ""


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """How a node looks when nothing runs on it.

    Attributes:
        available_bytes: MemAvailable of the idle node.
        gpu_used_bytes: GPU UUID -> memory used when idle.
        source: where it comes from, in words (`recorded 2026-11-20`, `idle peer node-175`, `MemTotal less ...`).
        margin_bytes: how far below `available_bytes` still counts as back.
        total_bytes: MemTotal of the node it was recorded on; gpu_model: what its GPUs are called. By these a peer is known.
    """

    available_bytes: int
    gpu_used_bytes: dict[str, int] = field(default_factory=dict)
    source: str = ""
    margin_bytes: int = 2 * 10**9
    total_bytes: int = 0
    gpu_model: str = ""

    def is_of(self, memory: Memory) -> bool:
        """Whether it was recorded on a machine with that much memory, as far as was recorded."""
        if not self.total_bytes:
            return self.available_bytes <= memory.total_bytes
        return abs(self.total_bytes - memory.total_bytes) <= memory.total_bytes * _SAME_TOTAL


@dataclass(frozen=True, kw_only=True)
class Observation:
    """All that is known of one node at one moment; what checks and steps look at.

    Attributes:
        node_facts: read on the node itself.
        hypervisor_facts: read on its hypervisor; None where it has none.
        services: engine instances found on the node by the engine files.
        baseline: how the idle node looks; None where nothing tells.
        sweeping: a sweep looks, and will again: what one sighting does not prove can wait for the next.
        past: what earlier sweeps remember; nothing outside a sweep.
        thresholds: those that hold for this node; none outside a sweep.
        last_launch: the last one that fleetops has recorded on this node; None outside a sweep.
    """

    node: Node
    node_facts: Facts
    hypervisor: Hypervisor | None = None
    hypervisor_facts: Facts | None = None
    profile: Profile | None = None
    services: tuple[Service, ...] = ()
    baseline: Baseline | None = None
    sweeping: bool = False
    past: Past = field(default_factory=Past)
    thresholds: Thresholds = field(default_factory=Thresholds)
    last_launch: LaunchRecord | None = None

    @property
    def silence(self) -> Missing | None:
        """Why the node said nothing at all; None where it said something."""
        return self.node_facts.silence

    @property
    def is_mute(self) -> bool:
        """It is the node itself that is silent: its guest runs, and it says nothing to its hypervisor either.

        No banner shows a kernel that accepts and an sshd that hangs. That no answer came in time shows as little of the
        node as of the way to it: only where the hypervisor has tried as well, it is the node's. Nothing else is.
        """
        gap, facts = self.silence, self.hypervisor_facts
        state = facts.value(GUEST) if facts else None
        if gap is None or facts is None or state is None or state.status != "running":
            return False
        answer = facts.value(SSH_ANSWER)
        if gap.reason == Silence.NO_BANNER:
            return answer is not PortAnswer.BANNER
        return gap.reason == Silence.TIMEOUT and answer in {PortAnswer.SILENT, PortAnswer.NO_ANSWER}


@dataclass(frozen=True, kw_only=True)
class Check:
    """A named judgement over an observation. `judge` is pure; a missing fact gives an UNKNOWN finding.

    Attributes:
        title: what is so on a healthy node, in words.
        sweeps_only: it needs facts, thresholds or a past that only a sweep has.
        latched: one sighting is enough for it to be firm, however many sweeps others need.
    """

    name: str
    title: str
    judge: Callable[[Observation], list[Finding]]
    sweeps_only: bool = False
    latched: bool = False


@dataclass(frozen=True, kw_only=True)
class FleetCheck:
    """The same over all nodes of one sweep at once: what only shows beside the others."""

    name: str
    title: str
    judge: Callable[[Sequence[Observation]], list[Finding]]
    latched: bool = False


@dataclass(frozen=True, kw_only=True)
class HypervisorCheck:
    """The same over a Proxmox host, by sweeps alone."""

    name: str
    title: str
    judge: Callable[[HypervisorSight], list[Finding]]
    latched: bool = False
