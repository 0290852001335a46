"""What is kept before the first signal: the logs of the launches that the node remembers, and of their memory guards."""

from proof_scenes import asking, launching, proven

from fleetops.model.engine import SERVICE_RECORDS, ServiceRecord
from fleetops.steps.keep_evidence import STEP


def test_the_log_of_a_launch_and_of_its_memory_guard_are_kept():
    log = "/var/log/fleetops/hicache48-run-1.log"
    record = ServiceRecord(
        profile="hicache48", run_id="run-1", pid=5, start_ticks=7, port=30000, log=log, unit=""
    )
    planned = STEP.plan(launching(asking(), proven(), facts={SERVICE_RECORDS: (record,)}), STEP.settle({}))
    read = {action.why: action.command.argv[-1] for action in planned.actions}
    assert read["keep launch-1.log"] == log
    assert read["keep memory-guard-1.log"] == "/var/log/fleetops/guard/hicache48-run-1.log"
