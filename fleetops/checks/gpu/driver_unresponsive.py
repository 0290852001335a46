"""nvidia-smi hangs in the driver (state D): nobody can ask it anything, and each further try would hang as well."""

from fleetops.checks.support.driver import gaps
from fleetops.checks.support.saying import found
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.gpu import DRIVER_UNRESPONSIVE

_NAME = DRIVER_UNRESPONSIVE


def judge(observation: Observation) -> list[Finding]:
    """Certain only where a process was seen in D; one that was merely slow leaves the GPUs unknown, which others say."""
    return [
        found(
            _NAME,
            observation,
            Severity.CRITICAL,
            "driver unresponsive",
            f"{gap.why.partition(': ')[2]} (on {host})",
            command="recover --dry-run",
        )
        for host, gap in gaps(observation, DRIVER_UNRESPONSIVE)
    ]


CHECK = Check(name=_NAME, title="the GPU driver answers", judge=judge)
