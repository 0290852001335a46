"""The manners of every command that changes something: shown first, asked, one at a time, interruptible."""

import signal

import pytest

pytestmark = [pytest.mark.lab, pytest.mark.timeout(300)]


@pytest.mark.parametrize("command", ["recover", "kill", "reset-gpus"])
def test_a_dry_run_changes_nothing(fleet, command):
    fleet.break_node("gpu-memory-held")
    before = fleet.process_table("node-174"), gpu_use(fleet)
    ran = fleet.fleetops(command, "node-174", "--dry-run")
    assert ran.status == 0, ran.stderr
    assert (fleet.process_table("node-174"), gpu_use(fleet)) == before
    assert ran.stdout.splitlines()[-1] == f"  {fleet.fleetops.typed(command, 'node-174')}"
    assert "fleetops-nvidia-smi 20 -q" in ran.stdout
    assert " is: sh -c " not in ran.stdout


def gpu_use(fleet):
    return [gpu.memory_used_bytes for gpu in fleet.look().node_facts.readings["gpus"].gpus]


def test_without_a_terminal_and_without_yes_it_refuses(fleet):
    fleet.break_node("gpu-memory-held")
    ran = fleet.fleetops("recover", "node-174")
    assert ran.status == 5
    assert "--yes" in ran.stderr


def test_a_protected_guard_cannot_be_waived(fleet):
    ran = fleet.fleetops("recover", "node-174", "--yes", "--waive", "proxmox-lock=I know")
    assert ran.status == 2
    assert "cannot be waived" in ran.stderr


def test_a_waiver_needs_a_reason(fleet):
    ran = fleet.fleetops("launch", "--profile", "hicache300", "node-174", "--waive", "size")
    assert ran.status == 2
    assert "needs a reason" in ran.stderr


def test_ctrl_c_ends_with_a_journal_that_says_so_and_the_lock_given_back(fleet):
    fleet.break_node("per-rank-trap")
    running = fleet.fleetops.start("recover", "node-174", "--yes")
    for line in running.stderr:
        if "stop the service" in line:
            break
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    assert "Traceback" not in err
    runs = fleet.fleetops("runs", "--json").json["runs"]
    assert runs[0]["status"] == "interrupted"
    assert fleet.fleetops("recover", "node-174", "--yes", "--no-relaunch").status == 0


@pytest.mark.long
def test_two_recoveries_of_one_node_at_the_same_time_do_not_meet(fleet):
    fleet.break_node("per-rank-trap")
    both = [fleet.fleetops.start("recover", "node-174", "--yes", "--no-relaunch") for _ in range(2)]
    ends = [(one.communicate(timeout=120), one.returncode) for one in both]
    assert sorted(code for _, code in ends) == [0, 5], ends
    refused = next(out[0] + out[1] for out, code in ends if code == 5)
    assert "is locked by run" in refused


def test_runs_lists_what_was_done_newest_first(fleet):
    for _ in range(2):
        fleet.fleetops("kill", "node-174", "--yes")
    runs = fleet.fleetops("runs", "--json").json["runs"]
    starts = [run["started_at"] for run in runs]
    assert starts == sorted(starts, reverse=True)
    assert runs[0]["playbook"] == "kill"


def test_a_reader_that_goes_away_does_not_stop_a_recovery_halfway(fleet):
    fleet.break_node("gpu-memory-held")
    running = fleet.fleetops.start("reset-gpus", "node-174", "--yes")
    running.stdout.close()
    assert running.wait(60) == 0, running.stderr.read()
    running.stderr.close()
    assert sum(gpu_use(fleet)) < 2**30


def test_a_terminal_that_goes_away_ends_a_run_with_its_lock_given_back(fleet):
    fleet.break_node("per-rank-trap")
    running = fleet.fleetops.start("kill", "node-174", "--yes")
    for line in running.stdout:
        if "keep evidence" in line and "done" in line:
            break
    running.send_signal(signal.SIGHUP)
    running.communicate(timeout=60)
    assert running.returncode == 130
    assert fleet.run("node-174", "sh", "-c", "ls /run/fleetops/locks") == ""
