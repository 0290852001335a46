"""What a failed launch says of what it left: as the facts show it, not as it might be."""

import pytest
from proof_scenes import asking, launching, proven

from fleetops.model.errors import Unreachable
from fleetops.model.finding import Finding, Severity
from fleetops.model.machine import PROCESSES
from fleetops.steps.support.stopping import what_is_left


def finding(check, severity):
    return Finding(host="node-174", check=check, severity=severity, subject=check, evidence="", next="")


class Desk:
    """A node on which a service was just ended."""

    def __init__(self, *findings):
        self.situation = launching(asking(), proven(), findings=findings, facts={PROCESSES: ()})

    def look(self):
        return self.situation


class SilentDesk(Desk):
    def look(self):
        raise Unreachable("no answer", host="node-174")


def test_a_node_that_is_clean_again_has_nothing_to_recover():
    assert (
        what_is_left(Desk(finding("service-absent", Severity.CRITICAL)))
        == "nothing of it is left on node-174"
    )


@pytest.mark.parametrize("check", ["gpu-memory-held", "leftovers", "memory-missing", "orphans", "port-held"])
def test_what_is_still_there_is_cleared_by_recover(check):
    told = what_is_left(Desk(finding(check, Severity.WARNING)))
    assert told == "fleetops recover node-174 clears what it left"


def test_what_cannot_be_seen_is_not_said_to_be_gone():
    assert what_is_left(Desk(finding("gpu-memory-held", Severity.UNKNOWN))).startswith(
        "fleetops probe node-174"
    )
    assert what_is_left(SilentDesk()).startswith("fleetops probe node-174")
