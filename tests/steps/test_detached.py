"""A detached change: claimed once, ended at its deadline, and told by its host to whoever asks."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from fleetops.model.command import Command, Outcome
from fleetops.model.errors import StepFailed, Unreachable
from fleetops.model.plan import Action
from fleetops.steps.support.detached import (
    ABSENT,
    Claim,
    claims,
    detached,
    follow,
    must_be_submitted,
    parse_claims,
    state_of,
    under_way,
    watch,
)

RUN = "20261130-120000-node-181-abc123"


class Host:
    """This machine with a folder in place of /run/fleetops; `time` passes when somebody waits."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.time = 0.0
        self.told: list[str] = []
        self.lost = 0

    def run(self, command: Command) -> Outcome:
        argv = [word.replace("/run/fleetops", str(self.folder)) for word in command.argv]
        done = subprocess.run(argv, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return Outcome(status=done.returncode, stdout=done.stdout, stderr=done.stderr)

    def ask(self, host: str, command: Command) -> Outcome:
        assert not command.changes
        if self.lost:
            self.lost -= 1
            raise Unreachable("pve-02 does not answer", host="pve-02")
        return self.run(command)

    def tell(self, text: str) -> None:
        self.told.append(text)

    def wait(self, seconds: float) -> None:
        self.time += seconds
        time.sleep(0.02)

    def now(self) -> float:
        return self.time


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


def change(*argv: str, limit_s: float = 60):
    command = Command(argv=argv, deadline_s=limit_s, changes=True, root=True)
    return detached(Action(host="pve-02", command=command, why="start"), RUN, "power-cycle-start")


def test_it_runs_to_its_end_and_tells_how_it_ended_and_what_it_printed(host):
    submitted = change("sh", "-c", "echo out; echo err >&2; exit 3")
    assert host.run(submitted.action.command).ok
    ended = follow(host, submitted)
    assert (ended.status, ended.stdout, ended.stderr, ended.timed_out) == (3, "out\n", "err\n", False)


def test_submitting_it_again_does_nothing(host):
    submitted = change("sh", "-c", f"echo once >> {host.folder}/calls")
    for said in ("", "submitted before\n"):
        outcome = host.run(submitted.action.command)
        assert (outcome.status, outcome.stderr) == (0, said)
    follow(host, submitted)
    assert (host.folder / "calls").read_text() == "once\n"


def test_what_was_not_submitted_is_told_from_what_was_lost(host):
    submitted = change("true")
    assert state_of(host, "pve-02", submitted.claim) == ABSENT
    host.run(submitted.action.command)
    follow(host, submitted)
    assert state_of(host, "pve-02", submitted.claim) == "ended 0"


def test_what_its_host_does_not_take_is_an_error(host):
    (host.folder / "runs").write_text("in the way")
    outcome = host.run(change("touch", f"{host.folder}/changed").action.command)
    with pytest.raises(StepFailed, match="did not take the change"):
        must_be_submitted(outcome, "pve-02")
    assert not (host.folder / "changed").exists()


def test_whoever_goes_on_later_reads_every_change_of_a_run_with_its_note(host):
    command = Command(argv=("sleep", "60"), deadline_s=60, changes=True, root=True)
    stop = detached(Action(host="pve-02", command=command, why="stop"), RUN, "power-cycle-stop", '{"pid": 7}')
    host.run(stop.action.command)
    host.run(change("true").action.command)
    follow(host, change("true"))
    found = parse_claims(host.run(claims([RUN, "another"])))
    assert found == (
        Claim(RUN, "power-cycle-start", "ended 0", ""),
        Claim(RUN, "power-cycle-stop", "running", '{"pid": 7}'),
    )
    pid = int((Path(stop.claim.replace("/run/fleetops", str(host.folder))) / "pid").read_text().split()[0])
    os.killpg(pid, signal.SIGKILL)


def test_one_that_does_not_end_is_ended_at_its_deadline(host):
    submitted = change("sleep", "60", limit_s=0.1)
    host.run(submitted.action.command)
    ended = follow(host, submitted)
    assert (ended.status, ended.timed_out) == (124, True)


def test_it_outlives_the_connection_that_submitted_it(host):
    submitted = change("sh", "-c", "sleep 0.3; echo done")
    argv = [word.replace("/run/fleetops", str(host.folder)) for word in submitted.action.command.argv]
    shell = subprocess.Popen(
        argv, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    shell.wait(timeout=20)
    with pytest.raises(ProcessLookupError):
        os.killpg(shell.pid, signal.SIGHUP)
    assert follow(host, submitted).stdout == "done\n"


def test_a_connection_that_breaks_while_it_runs_is_asked_again(host):
    submitted = change("sleep", "0.2")
    host.run(submitted.action.command)
    host.lost = 2
    assert follow(host, submitted).ok
    assert host.told == ["pve-02 does not answer: asking again how the change fares"] * 2


def test_one_of_which_nobody_can_tell_until_its_deadline_has_not_run_out_of_time(host):
    submitted = change("sleep", "0.2", limit_s=3)
    host.lost = 1000
    ended = follow(host, submitted)
    assert (ended.status, ended.timed_out) == (None, False)
    assert host.time >= 3


def test_one_that_its_host_lost_has_no_status(host):
    submitted = change("sleep", "60")
    host.run(submitted.action.command)
    pid = int(
        (Path(str(submitted.claim).replace("/run/fleetops", str(host.folder))) / "pid").read_text().split()[0]
    )
    os.killpg(pid, signal.SIGKILL)
    while host.run(watch(submitted.claim)).stdout.startswith("running"):
        time.sleep(0.02)
    ended = follow(host, submitted)
    assert (ended.status, ended.timed_out, ended.ok) == (None, False, False)


def test_one_that_is_dead_and_not_reaped_does_not_run(host):
    zombie = subprocess.Popen(["true"])
    until = time.monotonic() + 20
    while (stat := Path(f"/proc/{zombie.pid}/stat").read_text()).rpartition(") ")[2][0] != "Z":
        assert time.monotonic() < until, stat
    submitted = change("true")
    claim = Path(submitted.claim.replace("/run/fleetops", str(host.folder)))
    claim.mkdir(parents=True)
    (claim / "pid").write_text(f"{zombie.pid} {stat.rpartition(') ')[2].split()[19]}\n")
    assert host.run(watch(submitted.claim)).stdout == "lost\n"
    assert host.run(under_way(RUN)).stdout == ""
    zombie.wait()


def test_one_that_cannot_even_be_ended_is_not_waited_for(host):
    submitted = change("sleep", "60", limit_s=50)
    host.run(submitted.action.command)
    host.wait = lambda seconds: setattr(host, "time", host.time + 30)
    assert follow(host, submitted).timed_out
    pid = int(
        (Path(str(submitted.claim).replace("/run/fleetops", str(host.folder))) / "pid").read_text().split()[0]
    )
    os.killpg(pid, signal.SIGKILL)
