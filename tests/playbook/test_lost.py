"""A change whose connection broke: it is made once, whether it had begun, begins late, or never arrived."""

import subprocess
import time
from pathlib import Path

import pytest
from local_session import LocalSession
from patient import Patient

from fleetops.model.command import Command
from fleetops.model.errors import ConnectionLost, Unreachable
from fleetops.playbook import fence, lock, lost
from fleetops.playbook.lock import Owner, take_lock
from fleetops.playbook.lost import Sender


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for module, name in ((lock, "_FOLDER"), (fence, "LOCKS")):
        monkeypatch.setattr(module, name, str(tmp_path / "locks"))
    for module, name in ((lock, "_RUNS"), (fence, "RUNS"), (lost, "RUNS")):
        monkeypatch.setattr(module, name, str(tmp_path / "runs"))
    take_lock(LocalSession(), "node.lock", Owner.this_process("run-1"))
    return tmp_path


class Losing(LocalSession):
    """Loses the first `times` changes in its own way; what settles them gets through."""

    def __init__(self, times: int = 1) -> None:
        super().__init__()
        self.left, self.late = times, []

    def run(self, command, on_output=None):
        if command.argv[3:4] != ("fleetops-fence",) or not self.left:
            return super().run(command)
        self.left -= 1
        self.lose(command)
        raise ConnectionLost("the connection broke; whether it took effect is not known", host=self.host)

    def lose(self, command):
        """It never arrives."""


def change(folder: Path) -> Command:
    return Command(argv=("sh", "-c", 'echo made >> "$1"', "x", str(folder / "made")), changes=True, root=True)


def made(folder: Path) -> int:
    path = folder / "made"
    return len(path.read_text().splitlines()) if path.exists() else 0


def send(session: LocalSession, folder: Path, waiter: Patient | None = None):
    return sender(session, waiter).make(change(folder), "stop-service")


def sender(session: LocalSession, waiter: Patient | None = None) -> Sender:
    return Sender(session, "run-1", "node.lock", waiter or Patient())


def test_one_that_never_arrived_is_made_again_and_said(folder):
    waiter = Patient()
    sending = sender(Losing(), waiter)
    assert sending.make(change(folder), "stop-service").ok
    assert (made(folder), sending.again) == (1, 1)
    assert waiter.told == [
        "the connection broke; whether it took effect is not known: looking at what became of it",
        "it had not begun on node-174, and cannot any more: it is made again",
    ]


def test_one_that_arrives_after_it_was_made_again_does_nothing(folder):
    class Late(Losing):
        def lose(self, command):
            self.late.append(command)

    session = Late()
    assert send(session, folder).ok
    (late,) = session.late
    outcome = LocalSession().run(late)
    assert (outcome.status, made(folder)) == (1, 1)
    assert "nothing was changed" in outcome.stderr


def test_one_whose_answer_was_lost_is_not_made_again(folder):
    class Unheard(Losing):
        def lose(self, command):
            LocalSession.run(self, command)

    with pytest.raises(ConnectionLost):
        send(Unheard(), folder)
    assert made(folder) == 1


def test_one_that_goes_on_is_awaited(folder):
    class Slow(Losing):
        def lose(self, command):
            slow = (*command.argv[:8], "sh", "-c", 'read -r _; exec "$@"', "slow", *command.argv[8:])
            self.going = subprocess.Popen(slow, stdin=subprocess.PIPE)
            until = time.monotonic() + 30
            while not any(one.read_text() for one in folder.glob("runs/run-1/*/pid")):
                assert time.monotonic() < until, "it has not begun"
                time.sleep(0.01)

    class LetsItEnd(Patient):
        def wait(self, seconds):
            super().wait(seconds)
            if self.clock_s == 3:
                session.going.communicate(b"go\n")

    session, waiter = Slow(), LetsItEnd()
    with pytest.raises(ConnectionLost):
        send(session, folder, waiter)
    assert (made(folder), waiter.clock_s) == (1, 3)


def test_where_nobody_can_tell_it_is_not_made_again(folder):
    class Dark(Losing):
        def run(self, command, on_output=None):
            if "fleetops-settle" in command.argv:
                raise Unreachable("node-174: cannot connect", host=self.host)
            return super().run(command)

    waiter = Patient()
    with pytest.raises(ConnectionLost):
        send(Dark(), folder, waiter)
    assert made(folder) == 0
    assert waiter.clock_s >= change(folder).deadline_s


def test_it_is_tried_three_times_at_the_most(folder):
    session = Losing(times=9)
    with pytest.raises(ConnectionLost):
        send(session, folder)
    assert (session.left, made(folder)) == (6, 0)


@pytest.mark.parametrize("times", [1, 2])
def test_a_lock_whose_answer_was_lost_is_asked_for_once_more(times):
    class Unheard(LocalSession):
        left = times

        def run(self, command, on_output=None):
            outcome = super().run(command)
            if self.left:
                self.left -= 1
                raise ConnectionLost("the connection broke", host=self.host)
            return outcome

    if times == 1:
        assert lock.release_lock(Unheard(), "node.lock", "run-1")
        take_lock(Unheard(), "node.lock", Owner.this_process("run-2"))
    else:
        with pytest.raises(ConnectionLost):
            lock.release_lock(Unheard(), "node.lock", "run-1")
