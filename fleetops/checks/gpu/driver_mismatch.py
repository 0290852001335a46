"""The driver's library and its loaded module are of two releases: nothing that uses a GPU can start."""

from fleetops.checks.support.driver import gaps
from fleetops.checks.support.saying import found
from fleetops.model.finding import Check, Finding, Observation, Severity
from fleetops.model.gpu import DRIVER_MISMATCH

_NAME = DRIVER_MISMATCH


def judge(observation: Observation) -> list[Finding]:
    """One finding for each machine that says so, with who can mend it: no reset does (facts/recovery.md C)."""
    return [
        found(
            _NAME,
            observation,
            Severity.CRITICAL,
            "driver mismatch",
            f"on {host}: {gap.why}; no reset helps: a person reloads the module, or installs the library of its release",
            person=f"bring the driver's library and module on {host} to one release",
        )
        for host, gap in gaps(observation, DRIVER_MISMATCH)
    ]


CHECK = Check(name=_NAME, title="the GPU driver's library and module agree", judge=judge)
