"""The driver's own verdict that a GPU must be reset (`gpu_recovery_action`, or fields that say so)."""

from fleetops.checks.support.saying import found, lacking, listed
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.gpu import GPUS, Gpu

_NAME = "gpu-wants-reset"
# nvidia-smi's manual, GPU Recovery Action. A reboot is another check's: a reset does not answer it.
NOTHING_WANTED = frozenset({"", "None", "N/A", "[N/A]", "[Not Supported]"})
RESETS = frozenset({"Reset", "Drain and Reset", "Drain P2P"})
BEYOND_RESET = frozenset({"Reboot"})
_FIELD_TEXT = "requires reset"


def judge(observation: Observation) -> list[Finding]:
    """A known action that a reset answers is critical; one that this program does not know stops it."""
    if unknown := lacking(_NAME, observation, GPUS):
        return unknown
    gpus = observation.node_facts.value(GPUS)
    wanting = [gpu for gpu in (gpus.gpus if gpus else ()) if _wants(gpu)]
    strange = [gpu for gpu in (gpus.gpus if gpus else ()) if _is_strange(gpu)]
    findings = []
    if wanting:
        evidence = f"the driver asks for it: {listed(f'GPU {gpu.index} ({_action(gpu)})' for gpu in wanting)}"
        findings.append(
            found(
                _NAME,
                observation,
                Severity.CRITICAL,
                "GPU wants a reset",
                evidence,
                command="recover --dry-run",
            )
        )
    if strange:
        actions = listed(f"GPU {gpu.index}: {gpu.recovery_action!r}" for gpu in strange)
        evidence = f"the driver asks for an action that is not known here ({actions}): stop and ask a person"
        findings.append(found(_NAME, observation, Severity.UNKNOWN, "unknown recovery action", evidence))
    return findings


def _wants(gpu: Gpu) -> bool:
    return gpu.recovery_action in RESETS or any(_FIELD_TEXT in text for _, text in gpu.failing)


def _action(gpu: Gpu) -> str:
    return gpu.recovery_action if gpu.recovery_action in RESETS else f"GPU {_FIELD_TEXT}"


def _is_strange(gpu: Gpu) -> bool:
    return gpu.recovery_action not in NOTHING_WANTED | RESETS | BEYOND_RESET


CHECK = Check(name=_NAME, title="no GPU asks for a reset", judge=judge)
